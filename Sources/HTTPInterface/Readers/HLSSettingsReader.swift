import EventSubscription
import MixModel

/// Reads the `hls` part of a room's settings, and the body of `PUT /v1/rooms/{room}/hls`.
enum HLSSettingsReader {
    /// Reads settings from `true`, `false`, null, or an object. `nil` means no HLS.
    static func settings(_ value: JSONValue?, path: String) throws(InputError) -> HLSSettings? {
        switch value {
        case nil, .null, .boolean(false): return nil
        case .boolean(true): return HLSSettings()
        case let value?:
            var reader = try FieldReader(value, path: path)
            let settings = try settings(&reader)
            try reader.finish()
            return settings
        }
    }

    private static func settings(_ reader: inout FieldReader) throws(InputError) -> HLSSettings {
        var settings = HLSSettings()
        settings.segmentSeconds = try reader.integer("segmentSeconds", in: 1...10) ?? settings.segmentSeconds
        settings.windowSeconds = try reader.integer("windowSeconds", in: 6...3600) ?? settings.windowSeconds
        settings.enableVOD = try reader.boolean("enableVOD") ?? settings.enableVOD
        settings.metadata = try metadata(&reader)
        let renditions = try reader.array("renditions") ?? []
        guard renditions.count <= HLSSettings.mostRenditions else {
            throw InputError(
                .invalidField, field: reader.path(of: "renditions"), found: "\(renditions.count)",
                expected: "at most \(HLSSettings.mostRenditions): each costs a transcoder")
        }
        for (value, path) in renditions {
            let rendition = try rendition(try FieldReader(value, path: path))
            settings.renditions.removeAll { $0.height == rendition.height }
            settings.renditions.append(rendition)
        }
        return settings
    }

    private static func rendition(_ fields: FieldReader) throws(InputError) -> HLSRendition {
        var reader = fields
        guard let height = try reader.integer("height", in: 90...1080), height % 2 == 0 else {
            throw InputError(
                .invalidField, field: reader.path(of: "height"), expected: "an even number of pixels, 90…1080")
        }
        // About 0.1 bit per pixel at 25 frames per second and 16:9, as streaming services recommend.
        let usual = max(100_000, height * height * 16 / 9 * 25 / 10 / 10_000 * 10_000)
        let rendition = HLSRendition(
            height: height,
            videoBitrate: try reader.integer("videoBitrate", in: 50_000...10_000_000) ?? usual,
            metadata: try metadata(&reader))
        try reader.finish()
        return rendition
    }

    private static func metadata(_ reader: inout FieldReader) throws(InputError) -> String? {
        guard let text = try reader.string("metadata") else { return nil }
        guard text.utf8.count <= HLSSettings.longestMetadata else {
            throw InputError(
                .invalidField, field: reader.path(of: "metadata"), found: "\(text.utf8.count) bytes",
                expected: "at most \(HLSSettings.longestMetadata) bytes")
        }
        return text
    }
}
