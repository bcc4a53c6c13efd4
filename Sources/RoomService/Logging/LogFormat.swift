import Foundation
import Logging
import TextFormats

/// The format of log lines.
package enum LogFormat: String, CaseIterable, Sendable {
    /// For human readers: time, level, metadata, message.
    case text
    /// One JSON object per line.
    case json
}

/// A line of the log before it is written.
struct LogLine {
    var time: Date
    var level: Logger.Level
    /// Metadata, in the order in which it is written.
    var metadata: [(key: String, value: Logger.Metadata.Value)]
    var message: String

    /// Maximum length of a message or value, in bytes of UTF-8. Longer ones are cut off.
    static let longestText = 8192

    /// Returns the line without its line end.
    func text(as format: LogFormat) -> String {
        switch format {
        case .text: plain
        case .json: json
        }
    }

    private var stamp: String { time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }

    private var plain: String {
        var line = "\(stamp) \(level.rawValue)"
        for (key, value) in metadata {
            line += " \(OneLine.of(key))=\(OneLine.of(Self.clean("\(value)")))"
        }
        return line + " " + OneLine.of(Self.clean(message))
    }

    private var json: String {
        var fields = [("time", Self.quoted(stamp)), ("level", Self.quoted(level.rawValue))]
        fields.append(("message", Self.quoted(Self.clean(message))))
        let taken = Set(fields.map(\.0))
        for (key, value) in metadata {
            fields.append((taken.contains(key) ? "_" + key : key, Self.json(value)))
        }
        return "{" + fields.map { Self.quoted($0) + ":" + $1 }.joined(separator: ",") + "}"
    }

    private static func json(_ value: Logger.Metadata.Value) -> String {
        switch value {
        case .string(let text): quoted(clean(text))
        case .stringConvertible(let value): quoted(clean("\(value)"))
        case .array(let values): "[" + values.map(json).joined(separator: ",") + "]"
        case .dictionary(let values):
            "{"
                + values.sorted { $0.key < $1.key }.map { quoted($0.key) + ":" + json($0.value) }
                .joined(separator: ",") + "}"
        }
    }

    /// Redacts secrets and cuts off long text, as a last safeguard for everything that is logged.
    private static func clean(_ text: String) -> String {
        let clean = LogRedaction.text(text)
        guard clean.utf8.count > longestText else { return clean }
        // A scalar that is cut in half becomes U+FFFD.
        return String(decoding: clean.utf8.prefix(longestText), as: UTF8.self) + "…"
    }

    /// Returns the text as a JSON string (RFC 8259 §7).
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += #"\""#
            case "\\": result += #"\\"#
            case "\n": result += #"\n"#
            case "\r": result += #"\r"#
            case "\t": result += #"\t"#
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16)
                result += #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
