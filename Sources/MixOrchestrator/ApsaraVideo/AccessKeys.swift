import Crypto
import MixModel

/// What an app server signs its calls with. Shows its id alone, however it is printed.
struct AccessKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let id: String
    /// The only app that it acts for.
    let app: AppID
    /// For ACS3: the secret as it is.
    let key: SymmetricKey
    /// For RPC: the secret and an ampersand.
    let rpcKey: SymmetricKey
    private let securityTokenDigest: [UInt8]?

    /// Bytes of a secret.
    static let secretLengths = 16...512
    static let idLengths = 4...128
    static let securityTokenLengths = 1...4096

    /// - Parameter securityToken: Calls have to bring it, too, where there is one.
    init(id: String, secret: String, securityToken: String? = nil, app: AppID) {
        self.id = id
        self.app = app
        key = SymmetricKey(data: Array(secret.utf8))
        rpcKey = SymmetricKey(data: Array(secret.utf8) + [UInt8(ascii: "&")])
        securityTokenDigest = securityToken.map { Array(SHA256.hash(data: Array($0.utf8))) }
    }

    var needsSecurityToken: Bool { securityTokenDigest != nil }

    /// Takes the same time for every token of a length.
    func accepts(securityToken: String?) -> Bool {
        guard let expected = securityTokenDigest, let securityToken else {
            return securityTokenDigest == nil && securityToken == nil
        }
        var difference: UInt8 = 0
        for (left, right) in zip(expected, SHA256.hash(data: Array(securityToken.utf8))) { difference |= left ^ right }
        return difference == 0
    }

    var description: String { "access key \(id)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["id": id, "app": app]) }
}

/// The configured access keys, by id.
struct AccessKeys: Sendable {
    private var keys: [String: AccessKey] = [:]

    var isEmpty: Bool { keys.isEmpty }
    var ids: [String] { keys.keys.sorted() }

    subscript(id: String) -> AccessKey? { keys[id] }

    /// - Returns: False when there is one of this id already.
    mutating func add(_ key: AccessKey) -> Bool {
        guard keys[key.id] == nil else { return false }
        keys[key.id] = key
        return true
    }
}
