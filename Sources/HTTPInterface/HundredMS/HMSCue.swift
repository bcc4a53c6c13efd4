import EventSubscription
import Foundation
import MediaFormats
import TextFormats

/// A text for the players of a live stream, `{"payload", "duration"}`. Pure.
struct HMSCue: Hashable, Sendable {
    var payload: String
    /// In seconds.
    var seconds: Int

    /// Longest text, in characters, as 100ms has it.
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

    /// Returns it as playlists have it: an object of its text and its times as JSON, in Base64.
    ///
    /// - Parameter time: Beginning, in seconds since 1970.
    func range(id: String, at time: Double) -> DateRange? {
        let document = JSONValue.object([
            "payload": .string(payload), "start_date": .string(Self.date(time)),
            "end_date": .string(Self.date(time + Double(seconds))), "version": .string("1.0"),
        ])
        var text = Self.inASCII(JSONText.of(document))
        // Old players divide the attributes at each `=`, with which Base64 is filled up otherwise.
        while text.count % 3 != 0 { text.append(UInt8(ascii: " ")) }
        return DateRange(
            id: id, start: Int64(saturating: (time * 1000).rounded()), duration: Int64(seconds) * 1000,
            attribute: Self.attribute, value: Data(text).base64EncodedString())
    }

    /// A browser's `atob` knows no UTF-8.
    private static func inASCII(_ json: String) -> [UInt8] {
        json.utf16.flatMap { unit -> [UInt8] in
            guard unit > 0x7E else { return [UInt8(unit)] }
            let digits = String(unit, radix: 16)
            return Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
        }
    }

    /// A time as players for Android and for browsers both read it: they take no `Z`, and no colon.
    private static func date(_ time: Double) -> String {
        guard case .string(let text) = HMSTime.value(time) else { return "" }
        return text.replacing("Z", with: "+0000")
    }
}
