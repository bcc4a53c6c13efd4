#include "embedded_files.h"

// C23 has it; clang knows it in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi[] = {
#embed "../../openapi.yaml"
};

static const unsigned char publish_page[] = {
#embed "../../pages/publish.html"
};

static const unsigned char watch_page[] = {
#embed "../../pages/watch.html"
};

const unsigned char *embedded_publish_page(size_t *count) {
    *count = sizeof publish_page;
    return publish_page;
}

const unsigned char *embedded_watch_page(size_t *count) {
    *count = sizeof watch_page;
    return watch_page;
}

const unsigned char *embedded_openapi(size_t *count) {
    *count = sizeof openapi;
    return openapi;
}
