#include "embedded_files.h"

// C23 has it; clang knows it in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi[] = {
#embed "../../openapi.yaml"
};

const unsigned char *embedded_openapi(size_t *count) {
    *count = sizeof openapi;
    return openapi;
}
