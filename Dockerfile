# Signoff under an account of its own, with the sandbox for programs. docs/how-to/deploy-with-docker.md
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY agent_core agent_core
COPY adapters adapters
COPY bot bot
RUN python -m venv /opt/signoff \
    && /opt/signoff/bin/pip install --no-cache-dir --constraint constraints.txt '.[claude,embeddings,mcp,otel,pictures,postgres,s3,search,x]'

FROM python:3.11-slim-bookworm
# Debian's own releases of the branch: a pinned one is gone from the archive with its next security fix.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/signoff signoff
COPY --from=build /opt/signoff /opt/signoff
ENV PATH=/opt/signoff/bin:$PATH SIGNOFF_HOME=/var/lib/signoff/data HOST=0.0.0.0
USER 10001
WORKDIR /var/lib/signoff
VOLUME /var/lib/signoff
EXPOSE 8700
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8700/livez', timeout=4)"]
ENTRYPOINT ["signoff"]
CMD ["run"]
