// What `webrtcbin` needs of C: signals with variable arguments, and types of a library whose headers Debian keeps in a
// package that brings OpenCV along. They are reached by their registered names.
#ifndef CGSTREAMER_WEBRTC_H
#define CGSTREAMER_WEBRTC_H

#include <dlfcn.h>
#include <gst/gst.h>
#include <gst/sdp/gstsdpmessage.h>
#include <gst/video/video.h>

/// GstWebRTCSDPType, and GstWebRTCRTPTransceiverDirection, as far as they are used (GStreamer 1.22, webrtc_fwd.h).
enum { CGST_OFFER = 1, CGST_ANSWER = 3, CGST_SEND_ONLY = 2, CGST_RECEIVE_ONLY = 3 };

/// GstWebRTCSessionDescription (rtcsessiondescription.h).
typedef struct {
    int type;
    GstSDPMessage *sdp;
} CGstSessionDescription;

/// A description of `text`, which the caller frees with `cgst_description_free`; NULL if it cannot be read.
static inline gpointer cgst_description_new(int type, const char *text) {
    GType boxed = g_type_from_name("GstWebRTCSessionDescription");
    GstSDPMessage *message = NULL;
    if (!boxed || gst_sdp_message_new_from_text(text, &message) != GST_SDP_OK) {
        if (message) gst_sdp_message_free(message);
        return NULL;
    }
    CGstSessionDescription description = {.type = type, .sdp = message};
    gpointer copy = g_boxed_copy(boxed, &description);
    gst_sdp_message_free(message);
    return copy;
}

static inline void cgst_description_free(gpointer description) {
    GType boxed = g_type_from_name("GstWebRTCSessionDescription");
    if (description && boxed) g_boxed_free(boxed, description);
}

/// The text of a description, newly allocated.
static inline char *cgst_description_text(gpointer description) {
    CGstSessionDescription *read = (CGstSessionDescription *)description;
    return read && read->sdp ? gst_sdp_message_as_text(read->sdp) : NULL;
}

/// The description in a field of a promise's answer, which the caller frees; NULL if there is none.
static inline gpointer cgst_promise_description(GstPromise *promise, const char *field) {
    GType boxed = g_type_from_name("GstWebRTCSessionDescription");
    const GstStructure *reply = gst_promise_get_reply(promise);
    const GValue *value = reply ? gst_structure_get_value(reply, field) : NULL;
    return value && boxed && G_VALUE_HOLDS(value, boxed) ? g_value_dup_boxed(value) : NULL;
}

/// The reason why a promise was not kept, newly allocated; NULL if it was. An answer without a content is one.
static inline char *cgst_promise_failure(GstPromise *promise) {
    if (gst_promise_wait(promise) != GST_PROMISE_RESULT_REPLIED) return g_strdup("it was given up");
    const GstStructure *reply = gst_promise_get_reply(promise);
    const GValue *value = reply ? gst_structure_get_value(reply, "error") : NULL;
    if (!value || !G_VALUE_HOLDS(value, G_TYPE_ERROR)) return NULL;
    GError *error = (GError *)g_value_get_boxed(value);
    return g_strdup(error && error->message ? error->message : "no reason given");
}

/// Takes over the promise.
static inline void cgst_set_description(GstElement *peer, gboolean isLocal, gpointer description, GstPromise *promise) {
    g_signal_emit_by_name(
        peer, isLocal ? "set-local-description" : "set-remote-description", description, promise);
    if (promise) gst_mini_object_unref(GST_MINI_OBJECT_CAST(promise));
}

/// Takes over the promise.
static inline void cgst_create_description(GstElement *peer, gboolean isAnswer, GstPromise *promise) {
    g_signal_emit_by_name(peer, isAnswer ? "create-answer" : "create-offer", NULL, promise);
    if (promise) gst_mini_object_unref(GST_MINI_OBJECT_CAST(promise));
}

/// Adds a transceiver that receives `caps`, with or without asking for lost packets again.
static inline gboolean cgst_add_receiver(GstElement *peer, GstCaps *caps, gboolean asks_again) {
    GObject *transceiver = NULL;
    g_signal_emit_by_name(peer, "add-transceiver", CGST_RECEIVE_ONLY, caps, &transceiver);
    if (!transceiver) return FALSE;
    g_object_set(transceiver, "do-nack", asks_again, NULL);
    g_object_unref(transceiver);
    return TRUE;
}

/// Makes the transceiver of this place, which a linked pad has brought, send only, and send lost packets again.
static inline gboolean cgst_send_only(GstElement *peer, gint place) {
    GObject *transceiver = NULL;
    g_signal_emit_by_name(peer, "get-transceiver", place, &transceiver);
    if (!transceiver) return FALSE;
    g_object_set(transceiver, "direction", CGST_SEND_ONLY, "do-nack", TRUE, NULL);
    g_object_unref(transceiver);
    return TRUE;
}

static inline void cgst_add_candidate(GstElement *peer, guint section, const char *candidate) {
    g_signal_emit_by_name(peer, "add-ice-candidate", section, candidate);
}

static inline gboolean cgst_add_turn_server(GstElement *peer, const char *url) {
    gboolean taken = FALSE;
    g_signal_emit_by_name(peer, "add-turn-server", url, &taken);
    return taken;
}

/// Sets up the ICE agent: UDP only, no UPnP (which delays the end of gathering by 200 ms), and a range of ports.
/// 0 = any port. Returns false if `webrtcbin` has another agent than libnice's.
static inline gboolean cgst_configure_agent(GstElement *peer, guint lowest, guint highest) {
    GObject *ice = NULL, *agent = NULL;
    g_object_get(peer, "ice-agent", &ice, NULL);
    if (!ice) return FALSE;
    // The larger one first: each is compared with the other.
    if (highest) g_object_set(ice, "max-rtp-port", highest, NULL);
    if (lowest) g_object_set(ice, "min-rtp-port", lowest, NULL);
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(ice), "agent")) g_object_get(ice, "agent", &agent, NULL);
    if (agent) {
        g_object_set(agent, "upnp", FALSE, "ice-tcp", FALSE, NULL);
        g_object_unref(agent);
    }
    g_object_unref(ice);
    return agent != NULL;
}

/// Makes the ICE agent use this address of the machine, and no longer all of them.
static inline gboolean cgst_add_local_address(GstElement *peer, const char *address) {
    GObject *ice = NULL;
    gboolean taken = FALSE;
    g_object_get(peer, "ice-agent", &ice, NULL);
    if (!ice) return FALSE;
    if (g_signal_lookup("add-local-ip-address", G_OBJECT_TYPE(ice))) {
        g_signal_emit_by_name(ice, "add-local-ip-address", address, &taken);
    }
    g_object_unref(ice);
    return taken;
}

/// The libnice agent of a `webrtcbin`, which the caller owns; NULL if it has another one.
static inline GObject *cgst_agent(GstElement *peer) {
    GObject *ice = NULL, *agent = NULL;
    g_object_get(peer, "ice-agent", &ice, NULL);
    if (!ice) return NULL;
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(ice), "agent")) g_object_get(ice, "agent", &agent, NULL);
    g_object_unref(ice);
    return agent;
}

/// A function of the libnice that `webrtcbin` has loaded; NULL if there is none. Plug-ins keep the names of their
/// libraries to themselves.
static inline void *cgst_nice_function(const char *name) {
    void *library = dlopen("libnice.so.10", RTLD_LAZY | RTLD_NOLOAD);
    void *function = library ? dlsym(library, name) : NULL;
    // The plug-in keeps it loaded.
    if (library) dlclose(library);
    return function;
}

/// The only stream of an agent, because all media share one transport.
enum { CGST_ICE_STREAM = 1 };

/// Gives this side a new ICE name and password, newly allocated, and forgets those and the candidates of the other side.
/// Its own candidates, and DTLS, stay as they are. `webrtcbin` 1.22 cannot do this, but does not mind.
static inline gboolean cgst_restart_ice(GstElement *peer, char **name, char **password) {
    gboolean (*restart)(GObject *, guint) =
        (gboolean (*)(GObject *, guint))cgst_nice_function("nice_agent_restart_stream");
    gboolean (*credentials)(GObject *, guint, char **, char **) =
        (gboolean (*)(GObject *, guint, char **, char **))cgst_nice_function("nice_agent_get_local_credentials");
    GObject *agent = restart && credentials ? cgst_agent(peer) : NULL;
    if (!agent) return FALSE;
    gboolean done = restart(agent, CGST_ICE_STREAM) && credentials(agent, CGST_ICE_STREAM, name, password);
    g_object_unref(agent);
    return done;
}

/// Sets the ICE name and password of the other side after a restart.
static inline gboolean cgst_set_remote_ice(GstElement *peer, const char *name, const char *password) {
    gboolean (*set)(GObject *, guint, const char *, const char *) =
        (gboolean (*)(GObject *, guint, const char *, const char *))cgst_nice_function(
            "nice_agent_set_remote_credentials");
    GObject *agent = set ? cgst_agent(peer) : NULL;
    if (!agent) return FALSE;
    gboolean done = set(agent, CGST_ICE_STREAM, name, password);
    g_object_unref(agent);
    return done;
}

/// An enumerated property as a number; −1 if there is none of that name.
static inline int cgst_enum_property(GstElement *element, const char *name) {
    int value = -1;
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
    if (spec && G_IS_PARAM_SPEC_ENUM(spec)) g_object_get(element, name, &value, NULL);
    return value;
}

static inline void cgst_set_unsigned(GstElement *element, const char *name, guint value) {
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), name)) g_object_set(element, name, value, NULL);
}

static inline void cgst_set_double(GstElement *element, const char *name, double value) {
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), name)) g_object_set(element, name, value, NULL);
}

static inline void cgst_set_boolean(GstElement *element, const char *name, gboolean value) {
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), name)) g_object_set(element, name, value, NULL);
}

/// Whether the element was made by the factory of this name.
static inline gboolean cgst_is_made_by(GstElement *element, const char *factory) {
    GstElementFactory *own = gst_element_get_factory(element);
    return own && g_strcmp0(GST_OBJECT_NAME(own), factory) == 0;
}

/// The text field `name` of the caps of a pad, newly allocated.
static inline char *cgst_pad_caps_text(GstPad *pad, const char *name) {
    GstCaps *caps = gst_pad_get_current_caps(pad);
    if (!caps) caps = gst_pad_query_caps(pad, NULL);
    char *text = NULL;
    if (caps && gst_caps_get_size(caps) > 0) {
        text = g_strdup(gst_structure_get_string(gst_caps_get_structure(caps, 0), name));
    }
    if (caps) gst_caps_unref(caps);
    return text;
}

/// The element that a source pad belongs to, below the bins that show it as theirs. The caller owns it.
static inline GstElement *cgst_innermost_element(GstPad *pad) {
    GstPad *inner = gst_object_ref(pad);
    while (GST_IS_GHOST_PAD(inner)) {
        GstPad *target = gst_ghost_pad_get_target(GST_GHOST_PAD(inner));
        gst_object_unref(inner);
        if (!target) return NULL;
        inner = target;
    }
    GstElement *element = gst_pad_get_parent_element(inner);
    gst_object_unref(inner);
    return element;
}

/// Sets whether the `rtpjitterbuffer` that a source pad of a `webrtcbin` gets its packets from asks again for lost ones.
/// `webrtcbin` up to 1.28 sets this only if the other side's description names SSRCs, which it need not (RFC 8843, section
/// 9.2), and then gives every jitter buffer of bundled media the `do-nack` of the media whose SSRC was named last.
///
/// Returns false if there is none.
static inline gboolean cgst_ask_again(GstPad *pad, gboolean asks_again) {
    GstElement *element = cgst_innermost_element(pad);
    // Elements between the two: for payload types, forward error correction and storage.
    for (int distance = 0; element && distance < 8; distance++) {
        GstElementFactory *factory = gst_element_get_factory(element);
        if (factory && g_strcmp0(GST_OBJECT_NAME(factory), "rtpjitterbuffer") == 0) {
            g_object_set(element, "do-retransmission", asks_again, NULL);
            gst_object_unref(element);
            return TRUE;
        }
        GstPad *sink = gst_element_get_static_pad(element, "sink");
        GstPad *before = sink ? gst_pad_get_peer(sink) : NULL;
        if (sink) gst_object_unref(sink);
        gst_object_unref(element);
        element = before ? cgst_innermost_element(before) : NULL;
        if (before) gst_object_unref(before);
    }
    if (element) gst_object_unref(element);
    return FALSE;
}

static inline gboolean cgst_is_source_pad(GstPad *pad) { return GST_PAD_IS_SRC(pad); }

/// Number of bytes and of buffers that a probe was called for.
static inline void cgst_probed(GstPadProbeInfo *info, gsize *bytes, guint *buffers) {
    *bytes = 0;
    *buffers = 0;
    if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
        GstBufferList *list = GST_PAD_PROBE_INFO_BUFFER_LIST(info);
        *buffers = gst_buffer_list_length(list);
        *bytes = gst_buffer_list_calculate_size(list);
    } else if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) {
        *buffers = 1;
        *bytes = gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info));
    }
}

static inline GstPadProbeType cgst_probe_of_buffers(void) {
    return (GstPadProbeType)(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST);
}

/// Whether a probe was called for a request for a keyframe.
static inline gboolean cgst_asks_for_keyframe(GstPadProbeInfo *info) {
    return (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_EVENT_UPSTREAM)
        && gst_video_event_is_force_key_unit(GST_PAD_PROBE_INFO_EVENT(info));
}

/// The sum of a field of `stats` over all elements that a factory has made in `bin`.
static inline guint64 cgst_sum_of_statistics(GstElement *bin, const char *factory, const char *field) {
    guint64 sum = 0;
    if (!GST_IS_BIN(bin)) return 0;
    GstIterator *iterator = gst_bin_iterate_all_by_element_factory_name(GST_BIN(bin), factory);
    GValue item = G_VALUE_INIT;
    // A change of the elements meanwhile ends the sum early; the next one is whole again.
    while (gst_iterator_next(iterator, &item) == GST_ITERATOR_OK) {
        GstStructure *statistics = NULL;
        guint64 value = 0;
        g_object_get(g_value_get_object(&item), "stats", &statistics, NULL);
        if (statistics) {
            guint narrow = 0;
            if (gst_structure_get_uint64(statistics, field, &value)) sum += value;
            else if (gst_structure_get_uint(statistics, field, &narrow)) sum += narrow;
            gst_structure_free(statistics);
        }
        g_value_reset(&item);
    }
    g_value_unset(&item);
    gst_iterator_free(iterator);
    return sum;
}

/// Sends a request for a keyframe against the stream, from the pad `name` of an element.
static inline gboolean cgst_request_keyframe(GstElement *element, const char *name) {
    GstPad *pad = gst_element_get_static_pad(element, name);
    if (!pad) return FALSE;
    gboolean sent = gst_pad_push_event(
        pad, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, FALSE, 0));
    gst_object_unref(pad);
    return sent;
}

#endif
