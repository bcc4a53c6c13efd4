#include "embedded_files.h"

// C23 has it; clang knows it in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

// A file is an array here and a line in the list below. Those in pages/assets are served as /assets/{name}.

static const unsigned char openapi[] = {
#embed "../../openapi.yaml"
};

static const unsigned char publish_page[] = {
#embed "../../pages/publish.html"
};

static const unsigned char watch_page[] = {
#embed "../../pages/watch.html"
};

static const unsigned char embed_page[] = {
#embed "../../pages/embed.html"
};

static const unsigned char watch_script[] = {
#embed "../../pages/assets/watch.js"
};

static const unsigned char watch_style[] = {
#embed "../../pages/assets/watch.css"
};

#define FILE_AT(path, bytes) {path, bytes, sizeof bytes}

static const struct embedded_file files[] = {
    FILE_AT("openapi.yaml", openapi),
    FILE_AT("pages/publish.html", publish_page),
    FILE_AT("pages/watch.html", watch_page),
    FILE_AT("pages/embed.html", embed_page),
    FILE_AT("pages/assets/watch.js", watch_script),
    FILE_AT("pages/assets/watch.css", watch_style),
};

const struct embedded_file *embedded_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
