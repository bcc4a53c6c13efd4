import EventSubscription
import MixModel

/// Reads the `hls` part of a room's settings, and the body of `PUT /v1/rooms/{room}/hls`.
enum HLSSettingsReader {
    /// Reads settings from `true`, `false`, null, or an object. `nil` means no HLS.
    ///
    /// - Parameter base: Settings of which omitted fields stay, for a merge patch; `nil` means the defaults.
    static func settings(
        _ value: JSONValue?, path: String, patching base: HLSSettings? = nil
    ) throws(InputError) -> HLSSettings? {
        switch value {
        case nil, .null, .boolean(false): return nil
        case .boolean(true): return base ?? HLSSettings()
        case let value?:
            var reader = try FieldReader(value, path: path)
            let settings = try settings(&reader, patching: base ?? HLSSettings())
            try reader.finish()
            return settings
        }
    }

    private static func settings(
        _ reader: inout FieldReader, patching base: HLSSettings
    ) throws(InputError) -> HLSSettings {
        var settings = base
        let standard = HLSSettings()
        if reader.has("segmentSeconds") {
            settings.segmentSeconds = try reader.integer("segmentSeconds", in: 1...10) ?? standard.segmentSeconds
        }
        if reader.has("windowSeconds") {
            settings.windowSeconds = try reader.integer("windowSeconds", in: 6...3600) ?? standard.windowSeconds
        }
        if reader.has("enableVOD") { settings.enableVOD = try reader.boolean("enableVOD") ?? standard.enableVOD }
        if reader.has("metadata") { settings.metadata = try metadata(&reader) }
        guard reader.has("renditions") else { return settings }
        settings.renditions = []
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
