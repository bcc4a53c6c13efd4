import EventSubscription
import Foundation
import MixModel

/// Reads a room's recording settings.
enum RecordingSettingsReader {
    /// Longest duration, one week in seconds.
    private static let longest = 604_800
    private static let mostBytes = 1 << 50

    /// Returns the settings for `true` or an object; `nil` for `nil`, `false` and null, which record nothing.
    ///
    /// - Parameter base: Settings of which omitted fields stay, for a merge patch; `nil` means the defaults.
    static func settings(
        _ value: JSONValue?, path: String, patching base: RecordingSettings? = nil
    ) throws(InputError) -> RecordingSettings? {
        switch value {
        case nil, .null, .boolean(false): return nil
        case .boolean(true): return base ?? RecordingSettings()
        case .some(let value):
            guard case .object = value else {
                throw InputError(
                    .invalidField, field: path, found: value.summary, expected: "true, false, or a JSON object")
            }
            var reader = try FieldReader(value, path: path)
            var settings = base ?? RecordingSettings()
            if reader.has("singleFilePerLayer") {
                settings.singleFilePerLayer = try reader.boolean("singleFilePerLayer") ?? false
            }
            if reader.has("participants") { settings.participants = try reader.boolean("participants") ?? false }
            if reader.has("maxSeconds") { settings.maxSeconds = try reader.integer("maxSeconds", in: 1...longest) }
            if reader.has("maxBytes") {
                settings.maxBytes = try reader.integer("maxBytes", in: 1_000_000...mostBytes).map(Int64.init)
            }
            if reader.has("partSeconds") { settings.partSeconds = try reader.integer("partSeconds", in: 10...longest) }
            if reader.has("audioOnly") { settings.audioOnly = try reader.boolean("audioOnly") == true ? true : nil }
            try reader.finish()
            guard !settings.singleFilePerLayer || settings.partSeconds == nil else {
                throw InputError(
                    .invalidField, field: reader.path(of: "partSeconds"), found: "parts of a single file",
                    expected: "either singleFilePerLayer or partSeconds")
            }
            return settings
        }
    }
}

extension RecordingSettings {
    /// Returns these settings as the next ones of a room that has `current` now. A recording that continues keeps its
    /// id and its start.
    func following(_ current: RecordingSettings?, at time: Double = Date().timeIntervalSince1970) -> Self {
        var settings = self
        // Patches of earlier releases began recordings without an identifier.
        let current = current.flatMap { $0.id.isEmpty ? nil : $0 }
        settings.id = current?.id ?? String(UInt32.random(in: 0 ... .max), radix: 36)
        settings.startedAt = current?.startedAt ?? time
        return settings
    }
}
