import Crypto
import Foundation
import HTTPTypes

/// Who may take programs: everybody, or whoever has a URL that was signed with one of the keys.
///
/// A URL is signed as ApsaraVideo Live's type A does: `auth_key={unix}-{rand}-{uid}-{md5hex(path-unix-rand-uid-key)}`. The
/// path is the URL's, app and all, without the query.
struct PlaybackAccess: Sendable {
    /// None: everybody may. Each is as good as the others, so that one can follow another.
    private let keys: [String]
    /// Seconds for which a URL is good beyond its time stamp.
    private let validity: Int

    /// Name of the parameter.
    static let parameter = "auth_key"
    /// The most that `rand` and `uid` may have, in characters.
    static let longestWord = 128

    init(keys: [String] = [], validity: Int = 0) {
        self.keys = keys
        self.validity = validity
    }

    var isOpen: Bool { keys.isEmpty }

    /// Why a URL opens nothing.
    enum Refusal: Error, Hashable, Sendable {
        case missing
        case malformed
        /// Also that it is made out for another path: what was signed is not known.
        case wrong
        /// - Parameter seconds: For how long.
        case expired(seconds: Int)
    }

    /// Lets those in whose URL is signed and still good.
    ///
    /// - Parameters:
    ///   - path: As it was sent. Signing its percent-decoded form is as good: both mean the same.
    ///   - authKey: The parameter's value, percent-decoded.
    ///   - now: In seconds since 1970.
    func check(path: String, authKey: String?, now: Int) throws(Refusal) {
        guard !isOpen else { return }
        guard let authKey, !authKey.isEmpty else { throw .missing }
        guard let parts = Parts(authKey) else { throw .malformed }
        var paths = [path]
        if let decoded = path.removingPercentEncoding, decoded != path { paths.append(decoded) }
        // Every signature is compared, and to the last byte: time tells nothing of what is right.
        var isRight = false
        for key in keys {
            for path in paths {
                let digest = Self.digest(path: path, unix: parts.unix, random: parts.random, uid: parts.uid, key: key)
                var difference: UInt8 = 0
                for (left, right) in zip(digest, parts.digest) { difference |= left ^ right }
                if difference == 0 { isRight = true }
            }
        }
        guard isRight else { throw .wrong }
        let end = parts.time + validity
        // What the time stamp says is only believed, and only told, when it was signed.
        guard now <= end else { throw .expired(seconds: now - end) }
    }

    /// The parameter's value for a path; `nil` when nothing has to be signed.
    ///
    /// - Parameters:
    ///   - path: Percent-encoded, as it will be sent.
    ///   - time: The time stamp, in seconds since 1970: the URL is good until then, and for `validity` longer.
    ///   - random: Without `-`, as `uid`.
    func authKey(path: String, time: Int, random: String = "0", uid: String = "0") -> String? {
        keys.first.map { Self.authKey(path: path, time: time, random: random, uid: uid, key: $0) }
    }

    /// The same with any key.
    static func authKey(path: String, time: Int, random: String = "0", uid: String = "0", key: String) -> String {
        let digest = digest(path: path, unix: "\(time)", random: random, uid: uid, key: key)
        return "\(time)-\(random)-\(uid)-" + hex(digest)
    }

    private static func digest(
        path: String, unix: some StringProtocol, random: some StringProtocol, uid: some StringProtocol, key: String
    ) -> [UInt8] {
        Array(Insecure.MD5.hash(data: Array("\(path)-\(unix)-\(random)-\(uid)-\(key)".utf8)))
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
    }

    /// What a value is made of.
    private struct Parts {
        var unix: Substring
        var time: Int
        var random: Substring
        var uid: Substring
        var digest: [UInt8]

        init?(_ text: String) {
            let words = text.split(separator: "-", omittingEmptySubsequences: false)
            guard words.count == 4, 1...12 ~= words[0].utf8.count,
                words[0].utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), let time = Int(words[0]),
                1...PlaybackAccess.longestWord ~= words[1].utf8.count,
                1...PlaybackAccess.longestWord ~= words[2].utf8.count, words[3].utf8.count == 32
            else { return nil }
            var digest: [UInt8] = []
            var rest = words[3].utf8[...]
            while let high = rest.popFirst(), let low = rest.popFirst() {
                guard let high = Self.digit(high), let low = Self.digit(low) else { return nil }
                digest.append(high << 4 | low)
            }
            (unix, self.time, random, uid, self.digest) = (words[0], time, words[1], words[2], digest)
        }

        private static func digit(_ byte: UInt8) -> UInt8? {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
            default: nil
            }
        }
    }
}

extension OrchestratorError {
    init(_ refusal: PlaybackAccess.Refusal) {
        let detail =
            switch refusal {
            case .missing: "the URL has no \(PlaybackAccess.parameter), and playback.key is set here"
            case .malformed: "\(PlaybackAccess.parameter) is not of the form unix-rand-uid-md5"
            case .wrong: "\(PlaybackAccess.parameter) was not made for this path with a key that is known here"
            case .expired(let seconds): "the URL expired \(seconds) s ago"
            }
        self.init(
            .forbidden, "playback-refused", "The URL does not open this program", detail: detail,
            field: PlaybackAccess.parameter,
            expected: "a URL signed for this path, as `mixorchestrator sign-url` prints it")
    }
}
