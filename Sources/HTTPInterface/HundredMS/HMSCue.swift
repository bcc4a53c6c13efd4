import EventSubscription
import Foundation
import MediaFormats
import TextFormats

/// A text for the players of a live stream, `{"payload", "duration"}`. Pure.
struct HMSCue: Hashable, Sendable {
    var payload: String
    /// Duration in seconds.
    var seconds: Int

    /// Longest text in characters, as at 100ms.
    static let longest = 100
    static let durations = 1...86_400
    private static let attribute = "X-100MSLIVE-PAYLOAD"

    init(payload: String, seconds: Int) {
        self.payload = payload
        self.seconds = seconds
    }

    init(_ body: JSONValue) throws {
        var reader = try FieldReader(body)
        guard let payload = try reader.string("payload"), 1...Self.longest ~= payload.count,
            payload.utf8.count <= 16 * Self.longest
        else { throw HMSFault.invalid("payload", "a text of 1 to \(Self.longest) characters") }
        guard let seconds = try reader.integer("duration", in: Self.durations) else {
            throw HMSFault.invalid("duration", "\(Self.durations.lowerBound) to \(Self.durations.upperBound) seconds")
        }
        self.init(payload: payload, seconds: seconds)
    }

    /// Returns the cue for playlists: a JSON object with its text and times, in Base64.
    ///
    /// - Parameter time: Beginning, in seconds since 1970.
    func range(id: String, at time: Double) -> DateRange? {
        let document = JSONValue.object([
            "payload": .string(payload), "start_date": .string(Self.date(time)),
            "end_date": .string(Self.date(time + Double(seconds))), "version": .string("1.0"),
        ])
        var text = Self.inASCII(JSONText.of(document))
        // Old players split the attributes at each `=`, which would otherwise pad the Base64.
        while text.count % 3 != 0 { text.append(UInt8(ascii: " ")) }
        return DateRange(
            id: id, start: Int64(saturating: (time * 1000).rounded()), duration: Int64(seconds) * 1000,
            attribute: Self.attribute, value: Data(text).base64EncodedString())
    }

    /// Returns JSON in ASCII, because a browser's `atob` does not decode UTF-8.
    private static func inASCII(_ json: String) -> [UInt8] {
        json.utf16.flatMap { unit -> [UInt8] in
            guard unit > 0x7E else { return [UInt8(unit)] }
            let digits = String(unit, radix: 16)
            return Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
        }
    }

    /// Returns a time in a form that both Android and browser players read: they do not accept `Z`, or a colon.
    private static func date(_ time: Double) -> String {
        guard case .string(let text) = HMSTime.value(time) else { return "" }
        return text.replacing("Z", with: "+0000")
    }
}
