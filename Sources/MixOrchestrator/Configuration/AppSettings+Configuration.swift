import EventSubscription
import Foundation
import HTTPInterface
import MixModel
import RoomService

/// Reads the tenants and their tokens.
extension AppSettings {
    /// - Parameter file: The configuration file. If it contains secrets, its permissions are checked.
    init(_ values: ConfigurationValues, file: String?) throws(StartupError) {
        self.init()
        quotas.standard = try Quotas(values, key: "quotas")
        var holdsTokens = false
        for number in try 0..<Self.count("apps", "apps", most: Self.most, values, Self.exists) {
            let key = "apps.\(number)"
            let id = try Self.id(key, values)
            guard ids.insert(id).inserted else {
                throw Self.wrong("\(key).id", "\"\(id)\"", "an id that no other app has")
            }
            quotas.ofApps[id] = try Quotas(values, key: "\(key).quotas", over: quotas.standard)
            try addCallbackKey(key, of: id, values)
            let tokens = "\(key).tokens"
            for index in try 0..<Self.count(tokens, "tokens", most: Self.mostTokens, values, Self.tokenExists) {
                holdsTokens = try add("\(tokens).\(index)", of: id, values) || holdsTokens
            }
            let keys = "\(key).accessKeys"
            let count = try Self.count(keys, "access keys", most: Self.mostAccessKeys, values, Self.accessKeyExists)
            for index in 0..<count {
                holdsTokens = try addAccessKey("\(keys).\(index)", of: id, values) || holdsTokens
            }
        }
        if holdsTokens, let file { warn(ofReaders: file) }
    }

    /// Reads the app's callback key: 16 to 64 letters and digits, as for `NotifyAuthKey`.
    private mutating func addCallbackKey(
        _ key: String, of app: AppID, _ values: ConfigurationValues
    ) throws(StartupError) {
        var text = values.secret("\(key).callbackKey")
        if let file = values.text("\(key).callbackKeyFile") {
            guard text == nil else { throw Self.wrong(key, "both", "either callbackKey or callbackKeyFile") }
            guard let data = FileManager.default.contents(atPath: file) else {
                throw Self.wrong("\(key).callbackKeyFile", "\"\(file)\"", "a readable file")
            }
            text = String(decoding: data.prefix(1 << 10), as: UTF8.self).trimmingCharacters(
                in: .whitespacesAndNewlines)
            warn(ofReaders: file)
        }
        guard let text else { return }
        guard 16...64 ~= text.utf8.count, text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            throw Self.wrong(
                "\(key).callbackKey", "\(text.utf8.count) bytes", "16 to 64 characters from a-z, A-Z and 0-9")
        }
        callbackKeys[app] = text
    }

    /// - Returns: Whether the configuration itself contains the token.
    private mutating func add(_ key: String, of app: AppID, _ values: ConfigurationValues) throws(StartupError) -> Bool
    {
        let given = values.secret("\(key).token")
        let file = values.text("\(key).tokenFile")
        let token: String
        switch (given, file) {
        case (let given?, nil): token = given
        case (nil, let file?):
            guard let data = FileManager.default.contents(atPath: file) else {
                throw Self.wrong("\(key).tokenFile", "\"\(file)\"", "a readable file")
            }
            token = String(decoding: data.prefix(64 << 10), as: UTF8.self).trimmingCharacters(
                in: .whitespacesAndNewlines)
            warn(ofReaders: file)
        default: throw Self.wrong(key, given == nil ? "nothing" : "both", "either token or tokenFile")
        }
        guard AccessTokens.shortest...Self.longestToken ~= token.utf8.count,
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Self.wrong(
                file == nil ? "\(key).token" : "\(key).tokenFile", "\(token.utf8.count) bytes",
                "\(AccessTokens.shortest) to \(Self.longestToken) printable ASCII characters without spaces, as "
                    + "`openssl rand -hex 32` prints")
        }
        let names = values.list("\(key).scopes")
        let scopes = Set(names.compactMap { Scope(rawValue: $0) })
        guard !names.isEmpty, names.allSatisfy({ Scope(rawValue: $0) != nil }) else {
            let stranger = names.first { Scope(rawValue: $0) == nil }
            throw Self.wrong(
                "\(key).scopes", stranger.map { "\"\($0)\"" } ?? "nothing",
                "one or more of " + Scope.allCases.map(\.rawValue).joined(separator: ", "))
        }
        guard tokens.add(token, app: app, scopes: scopes, user: try user("\(key).user", values)) else {
            throw Self.wrong(key, "a duplicate token", "a different token for each entry")
        }
        return file == nil
    }

    /// Returns the only user for whom a token's holder acts in channels.
    private func user(_ key: String, _ values: ConfigurationValues) throws(StartupError) -> UserID? {
        guard let text = values.text(key) else { return nil }
        do {
            return UserID(try EventParser.identifier(text, field: key))
        } catch {
            throw Self.wrong(key, "\"\(text)\"", error.expected)
        }
    }

    /// - Returns: Whether the configuration itself contains a secret.
    private mutating func addAccessKey(
        _ key: String, of app: AppID, _ values: ConfigurationValues
    ) throws(StartupError) -> Bool {
        guard let id = values.text("\(key).id") else { throw Self.wrong("\(key).id", "nothing", "the access key's id") }
        guard AccessKey.idLengths ~= id.utf8.count, Self.isPrintable(id) else {
            throw Self.wrong(
                "\(key).id", "\(id.utf8.count) bytes",
                "\(AccessKey.idLengths.lowerBound) to \(AccessKey.idLengths.upperBound) printable ASCII characters")
        }
        guard let secret = try secret("\(key).secret", values) else {
            throw Self.wrong(key, "nothing", "either secret or secretFile")
        }
        guard AccessKey.secretLengths ~= secret.text.utf8.count, Self.isPrintable(secret.text) else {
            throw Self.wrong(
                "\(key).secret", "\(secret.text.utf8.count) bytes",
                "\(AccessKey.secretLengths.lowerBound) to \(AccessKey.secretLengths.upperBound) printable ASCII "
                    + "characters without spaces, as `openssl rand -hex 32` prints")
        }
        let token = try self.secret("\(key).securityToken", values)
        if let token {
            guard AccessKey.securityTokenLengths ~= token.text.utf8.count, Self.isPrintable(token.text) else {
                throw Self.wrong(
                    "\(key).securityToken", "\(token.text.utf8.count) bytes",
                    "1 to \(AccessKey.securityTokenLengths.upperBound) printable ASCII characters without spaces")
            }
        }
        let accessKey = AccessKey(id: id, secret: secret.text, securityToken: token?.text, app: app)
        guard accessKeys.add(accessKey) else {
            throw Self.wrong("\(key).id", "\"\(id)\"", "an id that no other access key has")
        }
        return secret.isInConfiguration || token?.isInConfiguration == true
    }

    /// Returns the secret under this key, or the contents of the file that `…File` names.
    private mutating func secret(
        _ key: String, _ values: ConfigurationValues
    ) throws(StartupError) -> (text: String, isInConfiguration: Bool)? {
        switch (values.secret(key), values.text("\(key)File")) {
        case (nil, nil): return nil
        case (let given?, nil): return (given, true)
        case (nil, let file?):
            guard let data = FileManager.default.contents(atPath: file) else {
                throw Self.wrong("\(key)File", "\"\(file)\"", "a readable file")
            }
            warn(ofReaders: file)
            let text = String(decoding: data.prefix(64 << 10), as: UTF8.self)
            return (text.trimmingCharacters(in: .whitespacesAndNewlines), false)
        case (_?, _?): throw Self.wrong(key, "both", "either the secret or its file")
        }
    }

    private static func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    private static func accessKeyExists(_ key: String, _ values: ConfigurationValues) -> Bool {
        values.text("\(key).id") != nil || values.secret("\(key).secret") != nil
            || values.text("\(key).secretFile") != nil || values.secret("\(key).securityToken") != nil
            || values.text("\(key).securityTokenFile") != nil
    }

    private static func id(_ key: String, _ values: ConfigurationValues) throws(StartupError) -> AppID {
        let expected = "1 to 64 characters from a-z, A-Z, 0-9, - _ ."
        guard let id = values.text("\(key).id") else { throw wrong("\(key).id", "nothing", expected) }
        let isGood =
            id.utf8.count <= 64 && id != "." && id != ".."
            && id.utf8.allSatisfy { byte in
                let character = Character(UnicodeScalar(byte))
                return character.isASCII && (character.isLetter || character.isNumber) || "-_.".contains(character)
            }
        guard isGood else { throw wrong("\(key).id", "\"\(id)\"", expected) }
        return AppID(id)
    }

    /// Returns the number of entries of a list. An entry after a gap is an error: if it were ignored, a service whose
    /// only token it is would accept everyone.
    ///
    /// - Parameters:
    ///   - key: Key of the list, such as `apps.0.tokens`.
    ///   - words: The entries in words.
    ///   - exists: Returns whether the entry with this key has a setting.
    private static func count(
        _ key: String, _ words: String, most: Int, _ values: ConfigurationValues,
        _ exists: (String, ConfigurationValues) -> Bool
    ) throws(StartupError) -> Int {
        let numbers = (0...most).filter { exists("\(key).\($0)", values) }
        for (position, number) in numbers.enumerated() where position != number {
            throw wrong("\(key).\(position)", "nothing", "\(words) numbered without gaps")
        }
        guard numbers.count <= most else { throw wrong(key, "more", "at most \(most) \(words)") }
        return numbers.count
    }

    private static func exists(_ key: String, _ values: ConfigurationValues) -> Bool {
        values.text("\(key).id") != nil || values.secret("\(key).callbackKey") != nil
            || values.text("\(key).callbackKeyFile") != nil
            || (0...1).contains {
                tokenExists("\(key).tokens.\($0)", values) || accessKeyExists("\(key).accessKeys.\($0)", values)
            }
    }

    private static func tokenExists(_ key: String, _ values: ConfigurationValues) -> Bool {
        values.secret("\(key).token") != nil || values.text("\(key).tokenFile") != nil
            || !values.list("\(key).scopes").isEmpty || values.text("\(key).user") != nil
    }

    private mutating func warn(ofReaders file: String) {
        guard let mode = (try? FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]) as? Int,
            mode & 0o007 != 0
        else { return }
        warnings.append("\(file) holds secrets and is open to every user of this machine: run chmod o= \(file)")
    }

    private static func wrong(_ key: String, _ found: String, _ expected: String) -> StartupError {
        StartupError("configuration: \(key): found \(found); expected \(expected)")
    }
}
