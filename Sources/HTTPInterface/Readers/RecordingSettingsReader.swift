import EventSubscription
import Foundation
import MixModel

/// Reads a room's recording settings.
enum RecordingSettingsReader {
    /// Longest duration, one week in seconds.
    private static let longest = 604_800
    private static let mostBytes = 1 << 50

    /// Returns the settings for `true` or an object; `nil` for `nil`, `false` and null, which record nothing.
    static func settings(_ value: JSONValue?, path: String) throws(InputError) -> RecordingSettings? {
        switch value {
        case nil, .null, .boolean(false): return nil
        case .boolean(true): return RecordingSettings()
        case .some(let value):
            guard case .object = value else {
                throw InputError(
                    .invalidField, field: path, found: value.summary, expected: "true, false, or a JSON object")
            }
            var reader = try FieldReader(value, path: path)
            let settings = RecordingSettings(
                singleFilePerLayer: try reader.boolean("singleFilePerLayer") ?? false,
                participants: try reader.boolean("participants") ?? false,
                maxSeconds: try reader.integer("maxSeconds", in: 1...longest),
                maxBytes: try reader.integer("maxBytes", in: 1_000_000...mostBytes).map(Int64.init),
                partSeconds: try reader.integer("partSeconds", in: 10...longest),
                audioOnly: try reader.boolean("audioOnly").flatMap { $0 ? true : nil })
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
        settings.id = current?.id ?? String(UInt32.random(in: 0 ... .max), radix: 36)
        settings.startedAt = current?.startedAt ?? time
        return settings
    }
}
