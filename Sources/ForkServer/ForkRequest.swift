/// A request to a fork server for a process with these arguments.
struct ForkRequest: Hashable, Sendable {
    /// Longest request in bytes.
    static let limit = 4096

    /// The arguments after the program's name.
    var arguments: [String]

    init(arguments: [String]) { self.arguments = arguments }

    /// Parses the bytes of a message; `nil` if they are invalid.
    init?(_ bytes: some BidirectionalCollection<UInt8>) {
        guard bytes.count <= Self.limit, bytes.last == 0 else { return nil }
        let words = bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false)
        arguments = words.compactMap { String(validating: $0, as: UTF8.self) }
        guard arguments.count == words.count else { return nil }
    }

    /// Each argument in UTF-8 followed by a 0, as on a command line. `nil` if the request is too long, or an argument
    /// contains a 0.
    var bytes: [UInt8]? {
        guard !arguments.isEmpty, !arguments.contains(where: { $0.utf8.contains(0) }) else { return nil }
        let bytes = arguments.flatMap { argument -> [UInt8] in Array(argument.utf8) + [0] }
        return bytes.count <= Self.limit ? bytes : nil
    }
}

/// A message of a fork server: whether it has created a process, and later how that process ended.
enum ForkAnswer: Hashable, Sendable {
    /// The process with this number waits for `ForkAnswer.go`. Sent with its descriptor.
    case started(Int32)
    case refused(String)
    /// The process has ended with this `waitpid()` status.
    case ended(Int32)

    /// Longest answer in bytes.
    static let limit = 512
    /// The message that lets a process begin. Without it, the process ends before it has touched its descriptors.
    static let go: [UInt8] = [UInt8(ascii: "G")]

    init?(_ bytes: some BidirectionalCollection<UInt8>) {
        guard let kind = bytes.first, let rest = String(validating: bytes.dropFirst(), as: UTF8.self) else {
            return nil
        }
        switch kind {
        case UInt8(ascii: "S"):
            guard let number = Int32(rest), number > 0 else { return nil }
            self = .started(number)
        case UInt8(ascii: "E"):
            guard let status = Int32(rest) else { return nil }
            self = .ended(status)
        case UInt8(ascii: "R"): self = .refused(rest)
        default: return nil
        }
    }

    var bytes: [UInt8] {
        switch self {
        case .started(let number): Array("S\(number)".utf8)
        case .ended(let status): Array("E\(status)".utf8)
        case .refused(let reason): Array("R\(reason)".utf8.prefix(Self.limit))
        }
    }
}
