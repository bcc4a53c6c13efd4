import CGStreamer
import Dispatch
import Glibc
import Synchronization

/// The GStreamer library of this process.
public enum GStreamerRuntime {
    private static let started = Mutex<Bool>(false)
    private static let triedToStart = Atomic<Bool>(false)

    /// Initializes GStreamer; later calls do nothing. Reads the plugin registry, so the first call takes some 20 ms,
    /// and the very first one on a machine takes seconds.
    ///
    /// - Throws: `GStreamerError` (`.initialization`) if GStreamer cannot be used. The next call tries again.
    public static func start() throws(GStreamerError) {
        let failure: GStreamerError? = started.withLock { started in
            if started { return nil }
            if !triedToStart.exchange(true, ordering: .relaxed) { LibraryMessages.limit() }
            var error: UnsafeMutablePointer<GError>?
            guard gst_init_check(nil, nil, &error) != 0 else {
                return GStreamerError(.initialization, "GStreamer cannot start: \(consumingText(of: error))")
            }
            started = true
            return nil
        }
        if let failure { throw failure }
    }

    /// Returns the named element types that are not installed, each with the package that contains it.
    ///
    /// `start()` must have been called.
    public static func missingElements(_ names: [String]) -> [MissingElement] {
        names.compactMap { name in
            guard let factory = gst_element_factory_find(name) else { return MissingElement(name: name) }
            gst_object_unref(UnsafeMutableRawPointer(factory))
            return nil
        }
    }

    /// Loads the libraries of these elements on the caller's thread. Elements that are not installed are skipped.
    public static func load(_ names: [String]) {
        guard (try? start()) != nil else { return }
        for name in names {
            guard let element = gst_element_factory_make(name, nil) else { continue }
            // New elements have a floating reference.
            gst_object_ref_sink(UnsafeMutableRawPointer(element))
            gst_object_unref(UnsafeMutableRawPointer(element))
        }
    }

    /// Tear-downs in progress for which no caller waits.
    static let dismantling = DispatchGroup()

    /// Whether GStreamer's own tracer counts the objects of this process, because `GST_TRACERS` names `leaks`.
    public static var isWatchedForLeaks: Bool {
        getenv("GST_TRACERS").map { String(cString: $0).contains("leaks") } ?? false
    }

    /// Frees everything that GStreamer holds, so that a leak check sees only real leaks. Nothing of this module may be
    /// used afterwards: this is the last act of a process that `isWatchedForLeaks`, whose tracer then writes its
    /// report.
    ///
    /// Blocks for at most 10 s until abandoned pipelines are torn down: these are late, not leaked.
    public static func shutDownForLeakCheck() {
        _ = dismantling.wait(timeout: .now() + 10)
        gst_deinit()
    }
}

/// An element type that is not installed.
public struct MissingElement: Hashable, Sendable, CustomStringConvertible {
    public let name: String
    /// The Debian package that contains it; `nil` for a name this module does not know.
    public let package: String?

    public init(name: String) {
        self.name = name
        self.package = Self.packages.first { $0.value.contains(name) }?.key
    }

    public var description: String {
        if let package { return "GStreamer element '\(name)' is missing: install the Debian package \(package)" }
        return "GStreamer element '\(name)' is missing"
    }

    private static let packages: [String: Set<String>] = [
        "libgstreamer1.0-0": [
            "queue", "queue2", "tee", "fakesink", "fakesrc", "identity", "capsfilter", "filesrc", "filesink",
            "multiqueue", "typefind", "valve", "input-selector", "output-selector",
        ],
        "gstreamer1.0-plugins-base": [
            "appsrc", "appsink", "videotestsrc", "audiotestsrc", "videoconvert", "videoscale", "videoconvertscale",
            "videorate", "audioconvert", "audioresample", "audiorate", "audiomixer", "compositor", "decodebin",
            "textoverlay", "clockoverlay", "timeoverlay", "volume", "opusdec", "opusenc",
        ],
        "gstreamer1.0-plugins-good": [
            "flvdemux", "flvmux", "aacparse", "souphttpsrc", "jpegdec", "pngdec", "pngenc", "qtmux", "mp4mux",
            "isomp4mux", "rtspsrc", "rtpbin", "rtph264depay", "rtpopusdepay", "videobox", "videocrop", "videoflip",
            "imagefreeze", "matroskamux", "jpegenc",
        ],
        "gstreamer1.0-plugins-bad": [
            "rtmpsrc", "rtmpsink", "rtmp2src", "rtmp2sink", "h264parse", "h265parse", "voaacenc", "fdkaacenc",
            "x265enc", "faac", "faad", "srtsrc", "srtsink", "mpegtsmux", "tsdemux", "hlssink2", "nvh264enc",
            "nvh264dec",
            "webrtcbin", "dtlsenc", "dtlsdec", "srtpenc", "srtpdec",
            "vah264enc", "vah264dec", "openh264enc", "openh264dec", "rsvgdec", "webpdec", "webpenc",
        ],
        "gstreamer1.0-plugins-ugly": ["x264enc"],
        "gstreamer1.0-nice": ["nicesrc", "nicesink"],
        "gstreamer1.0-libav": ["avdec_h264", "avdec_aac", "avenc_aac", "avdec_h265"],
    ]
}
