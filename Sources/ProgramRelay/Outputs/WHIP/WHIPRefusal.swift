import Foundation
import MixModel
import TextFormats

/// Derives from a WHIP server's response why it refuses a stream. Pure.
enum WHIPRefusal {
    /// Longest displayed reason of a server, in bytes.
    private static let longestReason = 200

    /// Returns the fault for a status other than 201, with the server's description if there is one.
    static func fault(_ response: WHIPResponse) -> OutputFault {
        let (code, words): (OutputErrorCode, String) =
            switch response.status {
            case 401: (.publishRefused, "the server wants another bearer token")
            case 403: (.publishRefused, "the server does not let this token publish")
            case 404, 405, 410: (.applicationRefused, "the server has no WHIP endpoint, or no such stream, at this URL")
            case 406, 415, 422: (.publishRefused, "the server does not take H.264 with Opus")
            case 409: (.publishRefused, "the server has this stream from another publisher")
            case 429, 503: (.publishRefused, "the server takes no further stream at present")
            case 200...299, 300...399: (.protocolError, "the server's answer is not one of WHIP")
            default: (.publishRefused, "the server does not take the stream")
            }
        let reason = reason(response).map { ": \($0)" } ?? ""
        return OutputFault(code, "\(words) (\(response.status))\(reason)")
    }

    /// Returns the server's description: a field of a JSON object under a common name, or the first line of plain text.
    /// `nil` if there is no readable one.
    static func reason(_ response: WHIPResponse) -> String? {
        guard !response.body.isEmpty, response.status >= 300 else { return nil }
        let type = response.type?.lowercased() ?? ""
        if type.contains("json") || response.body.first == UInt8(ascii: "{") {
            // `detail` and `title` as in RFC 9457.
            let names = ["detail", "title", "error", "message", "msg"]
            guard let object = try? JSONDecoder().decode([String: Field].self, from: Data(response.body)) else {
                return nil
            }
            return names.lazy.compactMap { object[$0]?.text }.compactMap(line).first
        }
        guard type.isEmpty || type.hasPrefix("text/plain") || type.hasPrefix("application/sdp") else { return nil }
        return line(String(decoding: response.body.prefix(1 << 12), as: UTF8.self))
    }

    /// A field of a JSON object, of any type.
    private struct Field: Decodable {
        /// The text; `nil` if the value is not a string.
        var text: String?

        init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
    }

    private static func line(_ text: String) -> String? {
        let first = text.utf8.split { $0 == 0x0A || $0 == 0x0D }.first.map { String(Substring($0)) } ?? ""
        guard first.utf8.contains(where: { $0 > 0x20 }), !first.hasPrefix("<") else { return nil }
        return OneLine.of(first.shortened(toBytes: longestReason))
    }
}
