import Crypto
import Foundation
import HTTPTypes

@testable import MixOrchestrator

/// Signs calls as SDKs do, with code of its own.
struct WireCaller: Sendable {
    enum Signature: Sendable, CaseIterable { case acs3, rpc }

    var bench: Bench
    static let key = "shop-key"
    static let secret = "a-secret-of-the-shop's"
    var key = WireCaller.key
    var secret = WireCaller.secret
    var signature = Signature.acs3
    var app = "shop"
    var host = "localhost"

    /// Settings of a service with two apps.
    static let settings = [
        "apps.0.id": ["shop"], "apps.0.accessKeys.0.id": ["shop-key"],
        "apps.0.accessKeys.0.secret": ["a-secret-of-the-shop's"],
        "apps.1.id": ["other"], "apps.1.accessKeys.0.id": ["other-key"],
        "apps.1.accessKeys.0.secret": ["a-secret-of-the-other's"], "rooms.outputs": [],
    ]

    static func other(_ bench: Bench) -> WireCaller {
        WireCaller(bench: bench, key: "other-key", secret: "a-secret-of-the-other's", app: "other")
    }

    /// - Parameter parameters: Parameters of the call; `AppId` is added.
    func call(
        _ action: String, _ parameters: [String: String] = [:], method: HTTPRequest.Method = .post
    ) async throws -> Answer {
        let (uri, headers) = signed(action, ["AppId": app].merging(parameters) { $1 }, method: method)
        return try await bench.call(method, uri, headers: headers)
    }

    /// A request, ready to be sent.
    func signed(
        _ action: String, _ parameters: [String: String], method: HTTPRequest.Method = .post
    ) -> (uri: String, headers: HTTPFields) {
        Self.signed(action, parameters, method: method, key: key, secret: secret, signature, host: host)
    }

    static func signed(
        _ action: String, _ parameters: [String: String], method: HTTPRequest.Method, key: String = key,
        secret: String = secret, _ signature: Signature = .rpc, host: String = "localhost"
    ) -> (uri: String, headers: HTTPFields) {
        let time = Date().formatted(.iso8601)
        let nonce = UUID().uuidString
        switch signature {
        case .acs3:
            var fields = [
                "host": host, "x-acs-action": action, "x-acs-version": "2016-11-01", "x-acs-date": time,
                "x-acs-signature-nonce": nonce,
                "x-acs-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ]
            let names = fields.keys.sorted()
            let canonical =
                "\(method.rawValue)\n/\n\(Self.query(parameters))\n"
                + names.map { "\($0):\(fields[$0] ?? "")\n" }.joined()
                + "\n" + names.joined(separator: ";") + "\n" + (fields["x-acs-content-sha256"] ?? "")
            let digest = Self.hex(SHA256.hash(data: Data(canonical.utf8)))
            let code = HMAC<SHA256>.authenticationCode(
                for: Data("ACS3-HMAC-SHA256\n\(digest)".utf8), using: SymmetricKey(data: Data(secret.utf8)))
            fields["authorization"] =
                "ACS3-HMAC-SHA256 Credential=\(key),SignedHeaders=\(names.joined(separator: ";")),Signature=\(Self.hex(code))"
            var headers: HTTPFields = [:]
            // The client adds the `Host` field.
            for (name, value) in fields where name != "host" { headers[HTTPField.Name(name) ?? .cacheControl] = value }
            return ("/?" + Self.query(parameters), headers)
        case .rpc:
            var all = parameters.merging([
                "Action": action, "Version": "2016-11-01", "Format": "JSON", "Timestamp": time, "SignatureNonce": nonce,
                "SignatureMethod": "HMAC-SHA1", "SignatureVersion": "1.0", "SignatureType": "", "AccessKeyId": key,
            ]) { given, _ in given }
            let stringToSign = "\(method.rawValue)&%2F&\(Self.encoded(Self.query(all)))"
            let code = HMAC<Insecure.SHA1>.authenticationCode(
                for: Data(stringToSign.utf8), using: SymmetricKey(data: Data("\(secret)&".utf8)))
            all["Signature"] = Data(code).base64EncodedString()
            return ("/?" + Self.query(all), [:])
        }
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// Sorts by text, which for ASCII names is the order of their bytes.
    private static func query(_ parameters: [String: String]) -> String {
        parameters.sorted { $0.key < $1.key }.map { "\(encoded($0.key))=\(encoded($0.value))" }.joined(separator: "&")
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }
}
