"""Countries by the codes that serve as template names: {{FRA}} shows France."""

from __future__ import annotations

__all__ = ["COUNTRIES"]

_NAMES = """
ABW Aruba|AFG Afghanistan|AGO Angola|AIA Anguilla|ALB Albania|AND Andorra|ANG Angola|
ARE United Arab Emirates|ARG Argentina|ARM Armenia|ATG Antigua and Barbuda|
AUS Australia|AUT Austria|AZE Azerbaijan|BDI Burundi|BEL Belgium|BEN Benin|
BFA Burkina Faso|BGD Bangladesh|BGR Bulgaria|BHR Bahrain|BHS Bahamas|
BIH Bosnia and Herzegovina|BLR Belarus|BLZ Belize|BMU Bermuda|BOL Bolivia|BRA Brazil|
BRB Barbados|BRN Brunei|BTN Bhutan|BUL Bulgaria|BVT Bouvet Island|BWA Botswana|
CAF Central African Republic|CAN Canada|CHE Switzerland|CHI Chile|CHL Chile|CHN China|
CIV Ivory Coast|CMR Cameroon|COD Democratic Republic of the Congo|
COG Republic of the Congo|COL Colombia|COM Comoros|CPV Cape Verde|CRI Costa Rica|
CRO Croatia|CUB Cuba|CUR Curaçao|CUW Curaçao|CYM Cayman Islands|CYP Cyprus|
CZE Czech Republic|DEN Denmark|DEU Germany|DJI Djibouti|DMA Dominica|DNK Denmark|
DOM Dominican Republic|DZA Algeria|ALG Algeria|ECU Ecuador|EGY Egypt|ENG England|
ERI Eritrea|ESH Western Sahara|ESP Spain|EST Estonia|ETH Ethiopia|FIN Finland|FJI Fiji|
FLK Falkland Islands|FRA France|FRO Faroe Islands|FSM Federated States of Micronesia|
GAB Gabon|GBR United Kingdom|GEO Georgia|GER Germany|GGY Guernsey|GHA Ghana|
GIB Gibraltar|GIN Guinea|GLP Guadeloupe|GMB Gambia|GNB Guinea-Bissau|
GNQ Equatorial Guinea|GRC Greece|GRE Greece|GRD Grenada|GRL Greenland|GTM Guatemala|
GUF French Guiana|GUM Guam|GUY Guyana|HKG Hong Kong|HND Honduras|HON Honduras|
HRV Croatia|HTI Haiti|HUN Hungary|IDN Indonesia|IMN Isle of Man|IOM Isle of Man|
IND India|IRI Iran|IRL Ireland|IRN Iran|IRQ Iraq|ISL Iceland|ISR Israel|ITA Italy|
JAM Jamaica|JEY Jersey|JOR Jordan|JPN Japan|KAZ Kazakhstan|KEN Kenya|KGZ Kyrgyzstan|
KHM Cambodia|KIR Kiribati|KNA Saint Kitts and Nevis|SKN Saint Kitts and Nevis|
KOR South Korea|KOS Kosovo|KSA Saudi Arabia|KWT Kuwait|LAO Laos|LBN Lebanon|
LBR Liberia|LBY Libya|LCA Saint Lucia|LIE Liechtenstein|LKA Sri Lanka|LSO Lesotho|
LTU Lithuania|LUX Luxembourg|LVA Latvia|MAC Macau|MAF Saint Martin|MAR Morocco|
MCO Monaco|MDA Moldova|MDG Madagascar|MDV Maldives|MEX Mexico|MHL Marshall Islands|
MKD Macedonia|MLI Mali|MLT Malta|MMR Myanmar|MNE Montenegro|MNG Mongolia|
MOZ Mozambique|MRT Mauritania|MSR Montserrat|MTQ Martinique|MUS Mauritius|MWI Malawi|
MYS Malaysia|NAM Namibia|NCL New Caledonia|NED Netherlands|NER Niger|NGA Nigeria|
NGR Nigeria|NIC Nicaragua|NLD Netherlands|NOR Norway|NPL Nepal|NRU Nauru|
NZL New Zealand|OMN Oman|PAK Pakistan|PAN Panama|PER Peru|PHI Philippines|
PHL Philippines|PLW Palau|PNG Papua New Guinea|POL Poland|POR Portugal|
PRI Puerto Rico|PRK North Korea|PRT Portugal|PRY Paraguay|PSE Palestine|QAT Qatar|
ROM Romania|ROU Romania|RSA South Africa|RUS Russia|RWA Rwanda|SAU Saudi Arabia|
SCO Scotland|SDN Sudan|SEN Senegal|SGP Singapore|
SGS South Georgia and the South Sandwich Islands|SHN Saint Helena|SLB Solomon Islands|
SLE Sierra Leone|SLV El Salvador|SMR San Marino|SOM Somalia|SRB Serbia|
SSD South Sudan|STP São Tomé and Príncipe|SUI Switzerland|SUR Suriname|SVK Slovakia|
SVN Slovenia|SLO Slovenia|SWE Sweden|SWZ Swaziland|SXM Sint Maarten|SYC Seychelles|
SYR Syria|TCA Turks and Caicos Islands|TCD Chad|TGO Togo|THA Thailand|TJK Tajikistan|
TKM Turkmenistan|TLS East Timor|TON Tonga|TTO Trinidad and Tobago|TUN Tunisia|
TUR Turkey|TUV Tuvalu|TWN Taiwan|TZA Tanzania|UAE United Arab Emirates|UGA Uganda|
UK United Kingdom|UKR Ukraine|URS Soviet Union|URU Uruguay|URY Uruguay|
USA United States|UZB Uzbekistan|VAT Vatican City|
VCT Saint Vincent and the Grenadines|VEN Venezuela|VGB British Virgin Islands|
VIR United States Virgin Islands|VNM Vietnam|VUT Vanuatu|WAL Wales|WSM Samoa|
YEM Yemen|YUG Yugoslavia|ZAF South Africa|ZMB Zambia|ZWE Zimbabwe|TCH Czechoslovakia
"""
COUNTRIES = dict(entry.split(" ", 1) for entry in _NAMES.replace("\n", "").split("|"))
"""English names by three-letter code, of ISO 3166 and of sports."""
