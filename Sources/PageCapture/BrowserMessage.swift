import Foundation

/// One message of a browser's debugging protocol: the answer to a command, or an event. Only fields in use are decoded.
struct BrowserMessage: Decodable, Hashable, Sendable {
    struct Target: Decodable, Hashable, Sendable {
        var targetId: String
        var type: String
        var url: String?
    }

    struct Failure: Decodable, Hashable, Sendable { var message: String? }

    /// A JavaScript value. Only strings and Booleans are decoded.
    struct Value: Decodable, Hashable, Sendable {
        var text: String?
        var isTrue = false

        private enum Key: String, CodingKey { case value }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            text = try? container.decode(String.self, forKey: .value)
            isTrue = (try? container.decode(Bool.self, forKey: .value)) ?? false
        }
    }

    struct Frame: Decodable, Hashable, Sendable {
        var parentId: String?
        /// Set if the browser shows its own error page.
        var unreachableUrl: String?
    }

    /// An integer; any other value is decoded as absent. Events identify sessions by strings, and frames of a
    /// screencast by numbers.
    struct Number: Decodable, Hashable, Sendable {
        var value: Int?

        init(from decoder: any Decoder) throws { value = try? decoder.singleValueContainer().decode(Int.self) }
    }

    struct Response: Decodable, Hashable, Sendable {
        /// Headers of a response. Only that of the page's proxy is decoded.
        struct Headers: Decodable, Hashable, Sendable {
            var proxyFault: ProxyFault?

            init(from decoder: any Decoder) throws {
                let container = try? decoder.container(keyedBy: ProxyFault.Header.self)
                let text = try? container?.decode(String.self, forKey: .name)
                proxyFault = text.flatMap { ProxyFault(rawValue: $0) }
            }
        }

        var status: Int?
        var headers: Headers?
    }

    struct Result: Decodable, Hashable, Sendable {
        var targetInfos: [Target]?
        var sessionId: String?
        var errorText: String?
        var result: Value?
    }

    struct Parameters: Decodable, Hashable, Sendable {
        var targetInfo: Target?
        var name: String?
        var frameId: String?
        var type: String?
        var args: [Value]?
        var frame: Frame?
        var response: Response?
        /// Picture of a screencast in Base64, and its number.
        var data: String?
        var sessionId: Number?
    }

    var id: Int?
    var error: Failure?
    var result: Result?
    var method: String?
    var sessionId: String?
    var params: Parameters?

    /// Decodes a message; `nil` if the bytes are not a message.
    init?(_ bytes: [UInt8]) {
        guard let message = try? JSONDecoder().decode(BrowserMessage.self, from: Data(bytes)) else { return nil }
        self = message
    }
}

/// A command of a browser's debugging protocol.
struct BrowserCommand: Encodable, Sendable {
    /// A parameter's value.
    enum Value: Encodable, Sendable {
        case text(String)
        case flag(Bool)
        case number(Int)
        case values([String: Int])

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .flag(let flag): try container.encode(flag)
            case .number(let number): try container.encode(number)
            case .values(let values): try container.encode(values)
            }
        }
    }

    var id: Int
    var method: String
    var params: [String: Value]
    /// Session of the target that the command is for; `nil` means the browser.
    var sessionId: String?

    /// The bytes to write, with the zero byte at the end.
    var bytes: [UInt8] { ((try? JSONEncoder().encode(self)).map { [UInt8]($0) } ?? []) + [0] }
}
