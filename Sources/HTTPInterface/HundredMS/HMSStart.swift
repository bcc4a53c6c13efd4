import EventSubscription
import MixModel
import TextFormats

/// The body of a call that starts a session, checked as far as possible without the room. Pure.
///
/// Unknown fields are ignored, as at 100ms.
struct HMSStart: Hashable, Sendable {
    var meetingURL: String?
    var urls: [String] = []
    /// Whether a file is recorded.
    var records = false
    /// Whether the file has no video.
    var isAudioOnly = false
    /// Whether HLS keeps its segments.
    var keepsSegments = false
    /// Free text that is shown with the variants of HLS.
    var metadata: String?
    var size: HMSSession.Size?
    var destination: String?

    /// Longest name of a destination, in bytes.
    static let longestDestination = 256

    /// 100ms' size of a page for calls that name none.
    static let usualSize = HMSSession.Size(width: 1280, height: 720)

    /// - Throws: `HMSFault` for valid requests that are not supported, `InputError` for invalid ones.
    init(_ body: JSONValue, _ kind: HMSSession.Kind, _ settings: HMSSettings) throws {
        var reader = try FieldReader(body)
        meetingURL = try reader.string("meeting_url", expected: "the URL of a page").flatMap { $0.isEmpty ? nil : $0 }
        destination = try reader.string("destination")
        guard destination?.utf8.count ?? 0 <= Self.longestDestination else {
            throw HMSFault.invalid("destination", "at most \(Self.longestDestination) bytes")
        }
        // Live streams have no size at 100ms.
        size = try Self.size(&reader) ?? (settings.isStrict && kind.isBeam ? Self.usualSize : nil)
        switch kind {
        case .externalStream:
            urls = try Self.urls(&reader, settings)
            records = try reader.boolean("recording") ?? false
            guard records || !urls.isEmpty else {
                throw HMSFault.invalid("rtmp_urls", "at least one URL, or recording: true")
            }
        case .liveStream:
            try takeVariants(&reader)
            if var recording = try reader.object("recording") {
                keepsSegments = try recording.boolean("hls_vod") ?? false
                records = try recording.boolean("single_file_per_layer") ?? false
            }
        case .recording:
            records = true
            isAudioOnly = try reader.boolean("audio_only") ?? false
        }
        if var transcription = try reader.object("transcription"), try transcription.boolean("enabled") == true {
            throw HMSFault(.badRequest, "transcription is not supported", ["leave it out, or set enabled to false"])
        }
        guard !settings.isStrict || meetingURL != nil || settings.meetingURL != nil else {
            throw HMSFault(.badRequest, "meeting_url is missing", ["expected the URL of the page to show"])
        }
    }

    /// Reads `variants` of a live stream, in which clients name its page and its metadata. Here, all variants are one
    /// program.
    private mutating func takeVariants(_ reader: inout FieldReader) throws {
        metadata = try reader.string("metadata")
        for (element, path) in try reader.array("variants") ?? [] {
            var variant = try FieldReader(element, path: path)
            let url = try variant.string("meeting_url", expected: "the URL of a page") ?? meetingURL
            guard meetingURL == nil || url?.hasSameUTF8(as: meetingURL ?? "") == true else {
                throw HMSFault.invalid(variant.path(of: "meeting_url"), "the page of the other variants")
            }
            meetingURL = url
            metadata = try variant.string("metadata") ?? metadata
        }
        guard metadata?.utf8.count ?? 0 <= HLSSettings.longestMetadata else {
            throw HMSFault.invalid("metadata", "at most \(HLSSettings.longestMetadata) bytes")
        }
    }

    private static func urls(_ reader: inout FieldReader, _ settings: HMSSettings) throws -> [String] {
        let elements = try reader.array("rtmp_urls") ?? []
        guard elements.count <= settings.mostURLs else {
            throw HMSFault.invalid("rtmp_urls", "at most \(settings.mostURLs) URLs; found \(elements.count)")
        }
        var urls: [String] = []
        for (element, path) in elements {
            guard case .string(let text) = element, !settings.isStrict || isRTMP(text) else {
                throw HMSFault.invalid(path, "a URL that starts with rtmp:// or rtmps://")
            }
            urls.append(text)
        }
        return urls
    }

    private static func isRTMP(_ text: String) -> Bool {
        ["rtmp://", "rtmps://"].contains { text.lowercased().startsInUTF8(with: $0) }
    }

    /// Reads the size of the page: 500x480 to 1920x1080, or upright 500x500 to 1080x1920.
    private static func size(_ reader: inout FieldReader) throws -> HMSSession.Size? {
        guard var fields = try reader.object("resolution") else { return nil }
        let expected =
            "width and height, 500x480 to 1920x1080 for landscape and 500x500 to 1080x1920 for portrait pictures"
        guard let width = try fields.integer("width", in: 1...10_000),
            let height = try fields.integer("height", in: 1...10_000)
        else { throw HMSFault.invalid("resolution", expected) }
        let isFine =
            width >= height
            ? 500...1920 ~= width && 480...1080 ~= height : 500...1080 ~= width && 500...1920 ~= height
        guard isFine else { throw HMSFault.invalid("resolution", expected) }
        // Pictures have even sizes.
        return HMSSession.Size(width: width & ~1, height: height & ~1)
    }
}
