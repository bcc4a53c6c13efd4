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

static const unsigned char player_script[] = {
#embed "../../pages/assets/player.js"
};

static const unsigned char player_codecs_script[] = {
#embed "../../pages/assets/player-codecs.js"
};

static const unsigned char player_controls_script[] = {
#embed "../../pages/assets/player-controls.js"
};

static const unsigned char player_flv_script[] = {
#embed "../../pages/assets/player-flv.js"
};

static const unsigned char player_media_script[] = {
#embed "../../pages/assets/player-media.js"
};

static const unsigned char player_mp4_script[] = {
#embed "../../pages/assets/player-mp4.js"
};

static const unsigned char player_policy_script[] = {
#embed "../../pages/assets/player-policy.js"
};

static const unsigned char player_track_script[] = {
#embed "../../pages/assets/player-track.js"
};

static const unsigned char player_whep_script[] = {
#embed "../../pages/assets/player-whep.js"
};

static const unsigned char watch_names_script[] = {
#embed "../../pages/assets/watch-names.js"
};

static const unsigned char publish_script[] = {
#embed "../../pages/assets/publish.js"
};

static const unsigned char publish_style[] = {
#embed "../../pages/assets/publish.css"
};

static const unsigned char publish_devices_script[] = {
#embed "../../pages/assets/publish-devices.js"
};

static const unsigned char publish_people_script[] = {
#embed "../../pages/assets/publish-people.js"
};

static const unsigned char publish_whip_script[] = {
#embed "../../pages/assets/publish-whip.js"
};

static const unsigned char chat_script[] = {
#embed "../../pages/assets/chat.js"
};

static const unsigned char chat_style[] = {
#embed "../../pages/assets/chat.css"
};

#define FILE_AT(path, bytes) {path, bytes, sizeof bytes}

static const struct embedded_file files[] = {
    FILE_AT("openapi.yaml", openapi),
    FILE_AT("pages/publish.html", publish_page),
    FILE_AT("pages/watch.html", watch_page),
    FILE_AT("pages/embed.html", embed_page),
    FILE_AT("pages/assets/player.js", player_script),
    FILE_AT("pages/assets/player-codecs.js", player_codecs_script),
    FILE_AT("pages/assets/player-controls.js", player_controls_script),
    FILE_AT("pages/assets/player-flv.js", player_flv_script),
    FILE_AT("pages/assets/player-media.js", player_media_script),
    FILE_AT("pages/assets/player-mp4.js", player_mp4_script),
    FILE_AT("pages/assets/player-policy.js", player_policy_script),
    FILE_AT("pages/assets/player-track.js", player_track_script),
    FILE_AT("pages/assets/player-whep.js", player_whep_script),
    FILE_AT("pages/assets/watch-names.js", watch_names_script),
    FILE_AT("pages/assets/watch.js", watch_script),
    FILE_AT("pages/assets/watch.css", watch_style),
    FILE_AT("pages/assets/chat.js", chat_script),
    FILE_AT("pages/assets/chat.css", chat_style),
    FILE_AT("pages/assets/publish.js", publish_script),
    FILE_AT("pages/assets/publish.css", publish_style),
    FILE_AT("pages/assets/publish-devices.js", publish_devices_script),
    FILE_AT("pages/assets/publish-people.js", publish_people_script),
    FILE_AT("pages/assets/publish-whip.js", publish_whip_script),
};

const struct embedded_file *embedded_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
