import Foundation
import NIOCore

/// Encodes a value as JSON with sorted keys, unescaped slashes and ISO 8601 times. Equal values give equal bytes.
package func jsonBytes(_ value: some Encodable) -> ByteBuffer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .custom { date, encoder in
        var container = encoder.singleValueContainer()
        try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
    do {
        return ByteBuffer(bytes: try encoder.encode(value))
    } catch {
        // Answers contain strings, integers and finite numbers. Only a number that is not finite could fail to encode.
        return ByteBuffer(string: "{}")
    }
}
