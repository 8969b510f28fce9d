"""Words that differ between the Wikipedias: prefixes, headings, names of languages."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of a text in which `|` stands between them."""
    return frozenset(word.strip() for word in text.split("|"))


CATEGORY_PREFIXES = words(
    "category|категория|категорія|катэгорыя|kategorie|kategória|kategoria|kategori|"
    "kategorija|kategoriija|catégorie|categoría|categoria|categorie|luokka|flokkur|"
    "kategooria|κατηγορία|קטגוריה|تصنيف|رده|カテゴリ|分类|分類|분류|thể loại|"
    "หมวดหมู่|श्रेणी|"
    "kategorio|категорија|санат|kateqoriya|կատեգորիա|კატეგორია"
)
FILE_PREFIXES = words(
    "file|image|файл|картинка|изображение|картинка|зображення|выява|датотека|слика|"
    "datei|bild|fichier|archivo|imagen|ficheiro|arquivo|imagem|immagine|bestand|"
    "afbeelding|plik|grafika|soubor|súbor|fájl|kép|fișier|imagine|tiedosto|kuva|fil|"
    "billede|bilde|mynd|fail|pilt|attēls|vaizdas|slika|datoteka|dosya|resim|αρχείο|"
    "εικόνα|קובץ|תמונה|ملف|صورة|پرونده|ファイル|画像|"
    "文件|档案|檔案|圖像|图像|파일|그림|tập tin|hình|"
    "berkas|gambar|ไฟล์|ภาพ|चित्र|dosiero|fitxer|fitxategi|şəkil"
)
OTHER_NAMESPACES = words(
    "media|special|talk|user|user talk|wikipedia|wp|project|wikipedia talk|file talk|"
    "image talk|mediawiki|mediawiki talk|template|template talk|help|help talk|h|"
    "category talk|portal|portal talk|p|book|book talk|draft|draft talk|module|"
    "module talk|timedtext|education program|gadget|topic|медия|специални|беседа|"
    "потребител|потребител беседа|уикипедия|у|шаблон|помощ|портал|модул|участник|"
    "обсуждение|википедия|вп|проект|справка|служебная|diskussion|benutzer|"
    "benutzer diskussion|vorlage|hilfe|spezial|discussion|utilisateur|utilisatrice|"
    "modèle|aide|projet|portail|spécial|discusión|usuario|plantilla|ayuda|especial|"
    "wikiproyecto|discussione|utente|progetto|aiuto|portale|speciale|discussão|"
    "usuário|predefinição|ajuda|overleg|gebruiker|sjabloon|portaal|dyskusja|"
    "wikipedysta|szablon|pomoc|användare|mall|hjälp|bruker|mal|hjelp|bruger|skabelon|"
    "hjælp|ノート|利用者|プロジェクト|模块|用户|维基百科|帮助|模板"
)
INTERWIKI_PREFIXES = words(
    "wikt|wiktionary|s|wikisource|q|wikiquote|b|wikibooks|n|wikinews|v|wikiversity|"
    "voy|wikivoyage|w|c|commons|m|meta|d|wikidata|species|wikispecies|mw|"
    "mediawikiwiki|foundation|wmf|wikimedia|phab|bugzilla|doi|hdl|arxiv|iarchive|"
    "imdbname|imdbtitle|google|wikia|nost|incubator|toollabs|tools|viaf|pmid|rev|"
    "bsod|planetmath|iso639-3|mathworld|usemod|c2|meatball|jargon|memoryalpha|"
    "wikicities|rfc|oeis"
)
LANGUAGE_CODES = words(
    "aa|ab|ace|ady|af|ak|als|am|an|ang|ar|arc|arz|as|ast|atj|av|ay|az|azb|ba|bar|"
    "bat-smg|bcl|be|be-tarask|be-x-old|bg|bh|bi|bjn|bm|bn|bo|bpy|br|bs|bug|bxr|ca|"
    "cbk-zam|cdo|ce|ceb|ch|cho|chr|chy|ckb|co|cr|crh|cs|csb|cu|cv|cy|da|de|diq|dsb|"
    "dty|dv|dz|ee|el|eml|en|eo|es|et|eu|ext|fa|ff|fi|fiu-vro|fj|fo|fr|frp|frr|fur|fy|"
    "ga|gag|gan|gd|gl|glk|gn|gom|got|gu|gv|ha|hak|haw|he|hi|hif|ho|hr|hsb|ht|hu|hy|"
    "hz|ia|id|ie|ig|ii|ik|ilo|inh|io|is|it|iu|ja|jam|jbo|jv|ka|kaa|kab|kbd|kbp|kg|ki|"
    "kj|kk|kl|km|kn|ko|koi|kr|krc|ks|ksh|ku|kv|kw|ky|la|lad|lb|lbe|lez|lfn|lg|li|lij|"
    "lmo|ln|lo|lrc|lt|ltg|lv|mai|map-bms|mdf|mg|mh|mhr|mi|min|mk|ml|mn|mo|mr|mrj|ms|"
    "mt|mus|mwl|my|myv|mzn|na|nah|nap|nds|nds-nl|ne|new|ng|nl|nn|no|nov|nrm|nso|nv|"
    "ny|oc|olo|om|or|os|pa|pag|pam|pap|pcd|pdc|pfl|pi|pih|pl|pms|pnb|pnt|ps|pt|qu|rm|"
    "rmy|rn|ro|roa-rup|roa-tara|ru|rue|rw|sa|sah|sat|sc|scn|sco|sd|se|sg|sh|si|"
    "simple|sk|sl|sm|sn|so|sq|sr|srn|ss|st|stq|su|sv|sw|szl|ta|tcy|te|tet|tg|th|ti|"
    "tk|tl|tn|to|tpi|tr|ts|tt|tum|tw|ty|tyv|udm|ug|uk|ur|uz|ve|vec|vep|vi|vls|vo|wa|"
    "war|wo|wuu|xal|xh|xmf|yi|yo|za|zea|zh|zh-classical|zh-min-nan|zh-yue|zu"
)
LANGUAGE_NAMES = {
    "af": "Afrikaans", "ak": "Akkadian", "akk": "Akkadian", "am": "Amharic",
    "ang": "Old English", "ar": "Arabic", "arc": "Aramaic", "az": "Azerbaijani",
    "be": "Belarusian", "ber": "Berber", "bg": "Bulgarian", "bn": "Bengali",
    "bo": "Tibetan", "brh": "Brahui", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech",
    "cop": "Coptic", "cu": "Church Slavonic", "cy": "Welsh", "da": "Danish",
    "de": "German", "egy": "Egyptian", "el": "Greek", "eo": "Esperanto",
    "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "frm": "Middle French", "fro": "Old French",
    "ga": "Irish", "gd": "Scottish Gaelic", "gl": "Galician", "got": "Gothic",
    "gr": "Greek", "grc": "Ancient Greek", "grc-gre": "Ancient Greek",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian",
    "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "ko": "Korean",
    "ku": "Kurdish", "la": "Latin", "lt": "Lithuanian", "lv": "Latvian",
    "mk": "Macedonian", "mn": "Mongolian", "ms": "Malay", "mt": "Maltese",
    "my": "Burmese", "nah": "Nahuatl", "ne": "Nepali", "nl": "Dutch",
    "nn": "Norwegian", "no": "Norwegian", "non": "Old Norse", "oc": "Occitan",
    "pa": "Punjabi", "pl": "Polish", "ps": "Pashto", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sa": "Sanskrit", "sk": "Slovak",
    "sl": "Slovene", "so": "Somali", "sq": "Albanian", "sr": "Serbian",
    "sv": "Swedish", "sw": "Swahili", "syr": "Syriac", "ta": "Tamil", "te": "Telugu",
    "tg": "Tajik", "th": "Thai", "tk": "Turkmen", "tl": "Tagalog", "tr": "Turkish",
    "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "yi": "Yiddish",
    "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip
"""English names, by code, as templates such as lang-de show them."""

_TRAILING = {
    "en": "see also|references|external links|external link|further reading|notes|"
    "bibliography|sources|notes and references|references and notes|footnotes|"
    "citations|works cited|notes and sources|sources and notes|endnotes|"
    "references and further reading|further reading and external links|"
    "references and sources|sources and references|notes and citations|"
    "citations and references|general references|cited references|references cited|"
    "citations and notes|notes and bibliography|further information|related pages|"
    "bibliography and further reading|selected bibliography|gallery|image gallery",
    "de": "siehe auch|einzelnachweise|weblinks|literatur|quellen|anmerkungen|"
    "fußnoten|belege|nachweise|literatur und quellen",
    "fr": "voir aussi|références|notes et références|liens externes|lien externe|"
    "bibliographie|annexes|articles connexes|notes|sources",
    "es": "véase también|referencias|enlaces externos|bibliografía|notas|fuentes|"
    "notas y referencias|lecturas adicionales",
    "it": "note|voci correlate|collegamenti esterni|altri progetti|bibliografia|fonti",
    "pt": "ver também|referências|ligações externas|bibliografia|notas|fontes|"
    "notas e referências|leitura adicional",
    "ca": "vegeu també|referències|enllaços externs|bibliografia|notes|fonts",
    "nl": "zie ook|referenties|externe links|externe link|bronnen|noten|literatuur|"
    "bronvermelding|voetnoten",
    "pl": "zobacz też|przypisy|linki zewnętrzne|bibliografia|uwagi|źródła",
    "ru": "см. также|примечания|ссылки|литература|источники|комментарии",
    "uk": "див. також|примітки|посилання|література|джерела",
    "be": "гл. таксама|зноскі|спасылкі|літаратура|крыніцы",
    "bg": "вижте също|виж още|вижте още|виж също|източници|външни препратки|"
    "външни връзки|бележки|литература|използвана литература|препратки|библиография|"
    "допълнителна литература|бележки и източници|забележки",
    "sr": "види још|референце|спољашње везе|литература|извори|напомене",
    "mk": "поврзано|наводи|надворешни врски|литература",
    "hr": "povezani članci|izvori|vanjske poveznice|bilješke|literatura",
    "cs": "odkazy|reference|externí odkazy|související články|literatura|poznámky",
    "sk": "pozri aj|referencie|externé odkazy|literatúra|zdroje|poznámky",
    "sl": "glej tudi|sklici|zunanje povezave|viri|opombe",
    "hu": "lásd még|jegyzetek|további információk|források|irodalom",
    "ro": "vezi și|referințe|legături externe|bibliografie|note|lectură suplimentară",
    "sv": "se även|referenser|externa länkar|källor|noter|fotnoter|vidare läsning",
    "da": "se også|referencer|eksterne henvisninger|kilder|noter|litteratur",
    "no": "se også|referanser|eksterne lenker|kilder|noter|litteratur|fotnoter",
    "nn": "sjå òg|referansar|bakgrunnsstoff|kjelder|fotnotar",
    "fi": "katso myös|lähteet|aiheesta muualla|viitteet|kirjallisuutta",
    "et": "vaata ka|viited|välislingid|kirjandus|allikad",
    "lt": "taip pat skaitykite|šaltiniai|nuorodos|literatūra|išnašos",
    "lv": "skatīt arī|atsauces|ārējās saites|literatūra|piezīmes",
    "tr": "ayrıca bakınız|kaynakça|dış bağlantılar|notlar|kaynaklar",
    "el": "δείτε επίσης|παραπομπές|εξωτερικοί σύνδεσμοι|πηγές|βιβλιογραφία|σημειώσεις",
    "he": "ראו גם|הערות שוליים|קישורים חיצוניים|לקריאה נוספת",
    "ar": "انظر أيضا|انظر أيضًا|مراجع|المراجع|وصلات خارجية|هوامش|المصادر|مصادر",
    "fa": "جستارهای وابسته|منابع|پیوند به بیرون|پانویس|یادداشت‌ها",
    "ja": "関連項目|脚注|外部リンク|参考文献|出典|注釈|参照",
    "zh": "参见|參見|参考文献|參考文獻|参考资料|參考資料|外部链接|外部連結|注释|註釋|"
    "延伸阅读|延伸閱讀|相关条目|相關條目|腳註|脚注|来源|來源",
    "ko": "같이 보기|각주|외부 링크|참고 문헌|참고문헌|출처",
    "vi": "xem thêm|tham khảo|liên kết ngoài|chú thích|đọc thêm|ghi chú",
    "id": "lihat pula|referensi|pranala luar|catatan kaki|bacaan lanjutan|catatan",
}
_HEADINGS = {code: frozenset(names.split("|")) for code, names in _TRAILING.items()}


def is_trailing_heading(title: str, language: str) -> bool:
    """Say whether a section, in English or the wiki's language, only has references."""
    name = " ".join(title.casefold().split()).rstrip(":. ")
    base = language.lower().partition("-")[0]
    return name in _HEADINGS["en"] or name in _HEADINGS.get(base, ())
