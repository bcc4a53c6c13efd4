import Foundation

/// Offers of WebRTC clients that publish, for readers and for workers that answer them. Each is a file in the folder
/// `Offers`, whose README describes them; lines end with LF here, however they end in the file.
///
/// Those in `written` are written after the shape of a client's offers, and all have the same fingerprint. Those in
/// `captured` were made by clients.
public enum Offers {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Offers")

    /// Written after the shape of Chromium's offers with `addTransceiver` and `sendonly`: VP8 first, H.264 in five
    /// profiles and both modes, TWCC. The session's number, ICE name and password are those of examples in RFC 9725.
    public static let chromium = read("written/chromium.sdp")

    /// Written after the shape of Firefox' offers: fingerprint of the session, candidates in the offer, mids in digits,
    /// OpenH264 in both modes, a data channel that is bundled only (RFC 8829 §5.2.1).
    public static let firefox = read("written/firefox.sdp")

    /// Written after the shape of Safari's offers: H.264 first, high profile before baseline, H.265. That the video comes
    /// first, and the audio is bundled only and leaves its transport to the video, is what RFC 8829 §5.2.1 allows.
    public static let safari = read("written/safari.sdp")

    /// Written after the shape of aiortc's offers: candidates for all of its addresses, no header extension for
    /// congestion, `end-of-candidates`.
    public static let aiortc = read("written/aiortc.sdp")

    /// Written after the shape of offers of GStreamer's `whipclientsink` and `webrtcbin`: one profile only, no sound,
    /// `profile-level-id` in upper case.
    public static let gstreamer = read("written/gstreamer.sdp")

    /// Written after the shape of OBS' offers (libdatachannel), as in reports of its users: the whole transport is stated
    /// for the session, another group follows the bundle, one format for each of the media.
    public static let obs = read("written/obs.sdp")

    /// The written offers, with the names of their clients.
    public static let written: [(name: String, text: String)] = [
        ("chromium", chromium), ("firefox", firefox), ("safari", safari), ("aiortc", aiortc), ("gstreamer", gstreamer),
        ("obs", obs),
    ]

    /// The captured offers, with the names of their files.
    public static let captured: [(name: String, text: String)] = {
        let captured = folder.appending(path: "captured").path
        let files = (try? FileManager.default.contentsOfDirectory(atPath: captured)) ?? []
        return files.filter { $0.hasSuffix(".sdp") }.sorted().map { (name: $0, text: read("captured/\($0)")) }
    }()

    public static let all: [(name: String, text: String)] = written + captured

    /// The offers that can be published.
    public static let withH264: [(name: String, text: String)] = all.filter { hasH264($0.text) }

    /// Returns whether an offer has H.264 with `packetization-mode=1`. Looks at the text alone, so that a reader can be
    /// compared with it.
    public static func hasH264(_ offer: String) -> Bool {
        let lines = offer.split(whereSeparator: \.isNewline)
        return lines.contains { line in
            let words = line.split(separator: " ")
            guard words.count == 2, words[0].hasPrefix("a=rtpmap:"), words[1].lowercased() == "h264/90000" else {
                return false
            }
            let parameters = words[0].replacing("a=rtpmap:", with: "a=fmtp:") + " "
            return lines.contains { $0.hasPrefix(parameters) && $0.contains("packetization-mode=1") }
        }
    }

    /// The page that says where the captured offers come from.
    public static let readme = read("README.md")

    /// Returns the content of a file; empty, which no test accepts, if it cannot be read.
    private static func read(_ path: String) -> String {
        let text = (try? String(contentsOf: folder.appending(path: path), encoding: .utf8)) ?? ""
        return text.replacing("\r\n", with: "\n")
    }
}
