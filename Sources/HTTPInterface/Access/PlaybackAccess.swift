import Crypto
import Foundation
import HTTPTypes
import RoomService
import TextFormats

/// Access to programs: open to all, or restricted to URLs that are signed with one of the keys.
///
/// A URL is signed like ApsaraVideo Live's type A: `auth_key={unix}-{rand}-{uid}-{md5hex(path-unix-rand-uid-key)}`. The
/// path is the whole path of the URL, including the app, without the query.
package struct PlaybackAccess: Sendable {
    /// Signing keys; without any, access is open to all. All keys are equally valid, so that one can replace another.
    private let keys: [String]
    /// Seconds for which a URL is valid beyond its timestamp.
    private let validity: Int

    /// Name of the query parameter.
    package static let parameter = "auth_key"
    /// Largest number of UTF-8 bytes in `rand` and in `uid`.
    package static let longestWord = 128

    package init(keys: [String] = [], validity: Int = 0) {
        self.keys = keys
        self.validity = validity
    }

    package var isOpen: Bool { keys.isEmpty }

    /// The reason why a URL gives no access.
    package enum Refusal: Error, Hashable, Sendable {
        case missing
        case malformed
        /// The signature is wrong, or was made for another path: the two cannot be told apart.
        case wrong
        /// - Parameter seconds: Time since the URL expired, in seconds.
        case expired(seconds: Int)
    }

    /// Checks that a URL is signed and still valid.
    ///
    /// - Parameters:
    ///   - path: Path as received. A signature of its percent-decoded form is accepted, too, because both mean the
    ///     same.
    ///   - authKey: The parameter's value, percent-decoded.
    ///   - now: Time in seconds since 1970.
    /// - Returns: The signed `uid`; `nil` if access is open.
    /// - Throws: `Refusal`, unless access is open.
    @discardableResult
    package func check(path: String, authKey: String?, now: Int) throws(Refusal) -> String? {
        guard !isOpen else { return nil }
        guard let authKey, !authKey.isEmpty else { throw .missing }
        guard let parts = Parts(authKey) else { throw .malformed }
        var paths = [path]
        if let decoded = path.removingPercentEncoding, decoded != path { paths.append(decoded) }
        // Every signature is compared, to the last byte, so that timing reveals nothing about the right one.
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
        // The timestamp is trusted, and reported, only if it was signed.
        guard now <= end else { throw .expired(seconds: now - end) }
        return String(parts.uid)
    }

    /// Returns the parameter's value for a path; `nil` when access is open.
    ///
    /// - Parameters:
    ///   - path: Path as it will be sent, percent-encoded.
    ///   - time: Timestamp in seconds since 1970. The URL is valid until then, and for `validity` longer.
    ///   - random: Random part, without `-`, like `uid`.
    package func authKey(path: String, time: Int, random: String = "0", uid: String = "0") -> String? {
        keys.first.map { Self.authKey(path: path, time: time, random: random, uid: uid, key: $0) }
    }

    /// Returns the parameter's value for a path, signed with a given key.
    package static func authKey(path: String, time: Int, random: String = "0", uid: String = "0", key: String) -> String
    {
        let digest = digest(path: path, unix: "\(time)", random: random, uid: uid, key: key)
        return "\(time)-\(random)-\(uid)-" + Hexadecimal.text(digest)
    }

    private static func digest(
        path: String, unix: some StringProtocol, random: some StringProtocol, uid: some StringProtocol, key: String
    ) -> [UInt8] {
        Array(Insecure.MD5.hash(data: Array("\(path)-\(unix)-\(random)-\(uid)-\(key)".utf8)))
    }

    /// The parts of a parameter's value.
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
                1...PlaybackAccess.longestWord ~= words[2].utf8.count, words[3].utf8.count == 32,
                let digest = Hexadecimal.bytes(words[3])
            else { return nil }
            (unix, self.time, random, uid, self.digest) = (words[0], time, words[1], words[2], digest)
        }
    }
}

extension OrchestratorError {
    init(_ refusal: PlaybackAccess.Refusal) {
        let detail =
            switch refusal {
            case .missing: "the URL has no \(PlaybackAccess.parameter), but playback.key is set"
            case .malformed: "\(PlaybackAccess.parameter) is not of the form unix-rand-uid-md5"
            case .wrong: "\(PlaybackAccess.parameter) was not made for this path with a known key"
            case .expired(let seconds): "the URL expired \(seconds) s ago"
            }
        self.init(
            .forbidden, "playback-refused", "The URL does not grant access to this program", detail: detail,
            field: PlaybackAccess.parameter,
            expected: "a URL signed for this path, as `mixorchestrator sign-url` prints it")
    }
}
