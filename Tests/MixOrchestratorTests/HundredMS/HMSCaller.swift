import Crypto
import Foundation
import HTTPTypes

@testable import MixOrchestrator

/// A client of 100ms' interface that works as its SDK does, and signs its own tokens.
struct HMSCaller: Sendable {
    var bench: Bench
    var key = WireCaller.key
    var secret = WireCaller.secret

    /// Settings of a service with two apps.
    static let settings = WireCaller.settings.merging(["hundredms.enabled": ["true"]]) { $1 }

    static func other(_ bench: Bench) -> HMSCaller {
        HMSCaller(bench: bench, key: "other-key", secret: "a-secret-of-the-other's")
    }

    func call(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> Answer {
        try await bench.call(method, "/v2/" + path, body, headers: Self.headers(key: key, secret: secret))
    }

    func get(_ path: String) async throws -> Answer { try await call(.get, path) }
    func post(_ path: String, _ body: String? = "{}") async throws -> Answer { try await call(.post, path, body) }

    static func headers(key: String = WireCaller.key, secret: String = WireCaller.secret) -> HTTPFields {
        let now = Int(Date().timeIntervalSince1970) - 10
        let claims = """
            {"access_key":"\(key)","type":"management","version":2,"jti":"\(UUID().uuidString)","iat":\(now),\
            "nbf":\(now),"exp":\(now + 86_400)}
            """
        return [
            .authorization: "Bearer \(token(claims, secret: secret))", .accept: "application/json",
            .contentType: "application/json",
        ]
    }

    /// Returns a JWT with these claims.
    static func token(
        _ claims: String, head: String = #"{"alg":"HS256","typ":"JWT"}"#, secret: String = WireCaller.secret
    ) -> String {
        let signed = encoded(Data(head.utf8)) + "." + encoded(Data(claims.utf8))
        let code = HMAC<SHA256>.authenticationCode(
            for: Data(signed.utf8), using: SymmetricKey(data: Data(secret.utf8)))
        return signed + "." + encoded(Data(code))
    }

    private static func encoded(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
