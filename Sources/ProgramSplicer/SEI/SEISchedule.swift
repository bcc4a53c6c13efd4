import EncodedMedia
import Foundation
import MediaFormats
import MixModel

/// Decides which SEI messages go with which access unit. Pure; all times are program time.
///
/// A message with an interval is due with the first unit at or after its time; one that follows IDR frames is also due
/// with each IDR. A new or changed text is due with the next unit.
public struct SEISchedule: Sendable {
    /// The messages to send. A change sends new messages at once and keeps the rhythm of the others.
    public var settings: SEISettings? {
        didSet {
            if settings?.layoutVolume != oldValue?.layoutVolume { due[.layoutVolume] = nil }
            if settings?.wallClock != oldValue?.wallClock { due[.wallClock] = nil }
            if settings?.passThrough != oldValue?.passThrough { due[.passThrough] = nil }
            if settings?.custom != oldValue?.custom { due[.custom] = nil }
        }
    }

    private enum Kind: Hashable { case layoutVolume, wallClock, passThrough, custom }
    /// Program time at which each kind is sent next.
    private var due: [Kind: MediaTime] = [:]

    private static let customTiming = SEISettings.Timing(followsIDR: true)

    public init() {}

    /// Whether no message is ever sent.
    public var isEmpty: Bool {
        settings.map {
            $0.layoutVolume == nil && $0.wallClock == nil && $0.passThrough == nil && $0.custom == nil
        } ?? true
    }

    /// Returns the messages for the access unit that is decoded at `time`, and counts them as sent.
    ///
    /// - Parameters:
    ///   - wallClock: Time of the frame in ms since 1970. Called only when it is due.
    ///   - layout: The layout at this time. Called only when it is due.
    public mutating func messages(
        at time: MediaTime, isIDR: Bool, wallClock: () -> Int64 = { 0 }, layout: () -> SEILayout
    ) -> [SEIMessage] {
        guard let settings else { return [] }
        var messages: [SEIMessage] = []
        func add(_ text: String) { messages.append(SEIMessage(text: text, type: settings.payloadType)) }
        if let timing = settings.layoutVolume, isDue(.layoutVolume, timing, time, isIDR) { add(layout().json) }
        if let timing = settings.wallClock, isDue(.wallClock, timing, time, isIDR) { add("{\"ts\":\(wallClock())}") }
        if let text = settings.passThrough, isDue(.passThrough, text.timing, time, isIDR) { add(text.json) }
        if let text = settings.custom, isDue(.custom, Self.customTiming, time, isIDR) { add(text) }
        return messages
    }

    private mutating func isDue(
        _ kind: Kind, _ timing: SEISettings.Timing, _ time: MediaTime, _ isIDR: Bool
    ) -> Bool {
        guard let interval = timing.intervalMs.map({ MediaTime.milliseconds($0) }) else { return isIDR }
        let next = due[kind] ?? time
        // A jump of the program's time must not silence a message.
        let isTime = time >= next || next - time > interval
        guard isTime || (timing.followsIDR && isIDR) else { return false }
        if isTime { due[kind] = time - next < interval && time >= next ? next + interval : time + interval }
        return true
    }
}

extension SEISettings.PassThrough {
    /// The JSON object `{key: content}`.
    fileprivate var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        return (try? encoder.encode([key: content])).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
