import Crypto
import MixModel

/// A key with which an app server signs its calls. Descriptions and mirrors show only its id.
package struct AccessKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package let id: String
    /// The only app that the key acts for.
    let app: AppID
    /// The secret itself, which signs ACS3 requests.
    let key: SymmetricKey
    /// The secret followed by an ampersand, which signs RPC requests.
    let rpcKey: SymmetricKey
    private let securityTokenDigest: [UInt8]?

    /// Permitted length of a secret, in bytes.
    package static let secretLengths = 16...512
    package static let idLengths = 4...128
    package static let securityTokenLengths = 1...4096

    /// - Parameter securityToken: The token that every call must also carry. Optional.
    package init(id: String, secret: String, securityToken: String? = nil, app: AppID) {
        self.id = id
        self.app = app
        key = SymmetricKey(data: Array(secret.utf8))
        rpcKey = SymmetricKey(data: Array(secret.utf8) + [UInt8(ascii: "&")])
        securityTokenDigest = securityToken.map { Array(SHA256.hash(data: Array($0.utf8))) }
    }

    var needsSecurityToken: Bool { securityTokenDigest != nil }

    /// Returns whether a call's security token is the key's.
    ///
    /// The comparison takes the same time for all tokens of the same length.
    func accepts(securityToken: String?) -> Bool {
        guard let expected = securityTokenDigest, let securityToken else {
            return securityTokenDigest == nil && securityToken == nil
        }
        var difference: UInt8 = 0
        for (left, right) in zip(expected, SHA256.hash(data: Array(securityToken.utf8))) { difference |= left ^ right }
        return difference == 0
    }

    package var description: String { "access key \(id)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["id": id, "app": app]) }
}

/// The configured access keys, by id.
package struct AccessKeys: Sendable {
    private var keys: [String: AccessKey] = [:]

    package var isEmpty: Bool { keys.isEmpty }
    package var ids: [String] { keys.keys.sorted() }
    /// Apps that have a key.
    package var apps: Set<AppID> { Set(keys.values.map(\.app)) }

    subscript(id: String) -> AccessKey? { keys[id] }

    /// - Returns: False if there is already a key with this id.
    package mutating func add(_ key: AccessKey) -> Bool {
        guard keys[key.id] == nil else { return false }
        keys[key.id] = key
        return true
    }
}
