import EventSubscription
import Foundation
import TextFormats
import Testing

@testable import HTTPInterface

/// Both kinds of signature, on requests captured from SDKs and on altered ones.
@Suite struct WireSignatureTests {
    /// A captured request and its time.
    struct Captured: Sendable, CustomTestStringConvertible {
        var name: String
        var request: @Sendable () throws -> WireRequest
        var time: String
        var securityToken: String?
        var testDescription: String { name }

        func authenticator(_ changes: (inout String?) -> Void = { _ in }) throws -> WireAuthenticator {
            var token = securityToken
            changes(&token)
            let now = try #require(Timestamp.seconds(time))
            var keys = AccessKeys()
            _ = keys.add(AccessKey(id: "testid", secret: "testsecret", securityToken: token, app: "app-1"))
            return WireAuthenticator(keys, start: now - 3600, now: { now + 5 })
        }
    }

    static let plainHeaders = [
        "accept": "application/json", "host": "127.0.0.1:18099",
        "user-agent": "AlibabaCloud (Linux; x86_64) Python/3.11.7 Core/0.4.3 TeaDSL/2",
        "x-acs-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "x-acs-version": "2016-11-01",
    ]

    static let vectors = [
        Captured(
            name: "A: ACS3",
            request: {
                try WireRequest(
                    method: "POST",
                    query:
                        "AppId=app-1&ChannelId=room1&MaxIdleTime=60&MixMode=0&Region=CN-Shanghai&SingleSubParams=%7B%22SourceType%22%3A%22camera%22%2C%22StreamType%22%3A%220%22%2C%22UserId%22%3A%22host+1%22%7D&StreamURL=rtmp%3A%2F%2Fpush.example.com%2Flive%2Fs0%3Fauth_key%3D1-0-0-abc&TaskId=task-0",
                    headers: plainHeaders.merging([
                        "x-acs-action": "StartLiveMPUTask", "x-acs-date": "2026-11-21T06:43:03Z",
                        "x-acs-signature-nonce": "ca1b56bc92704898688d7dcfc9fe9d10",
                        "x-acs-credentials-provider": "static_ak",
                        "authorization":
                            "ACS3-HMAC-SHA256 Credential=testid,SignedHeaders=accept;host;user-agent;x-acs-action;x-acs-content-sha256;x-acs-credentials-provider;x-acs-date;x-acs-signature-nonce;x-acs-version,Signature=a260f9d30df9b5a64ab1e18676552c9a296174d6eedbe7cbb62b672cc8592792",
                    ]) { $1 })
            }, time: "2026-11-21T06:43:03Z"),
        Captured(
            name: "B: ACS3 with a security token",
            request: {
                try WireRequest(
                    method: "POST", query: "AppId=app+1%2A~%2B%C3%A9%2F%E4%B8%AD&TaskId=task-1",
                    headers: plainHeaders.merging([
                        "x-acs-action": "StopLiveMPUTask", "x-acs-date": "2026-11-21T06:50:06Z",
                        "x-acs-signature-nonce": "a1123e3ed78a8a0ed75b01dbad02fbe8",
                        "x-acs-credentials-provider": "static_sts", "x-acs-accesskey-id": "testid",
                        "x-acs-security-token": "sts-token",
                        "authorization":
                            "ACS3-HMAC-SHA256 Credential=testid, SignedHeaders=accept;host;user-agent;x-acs-accesskey-id;x-acs-action;x-acs-content-sha256;x-acs-credentials-provider;x-acs-date;x-acs-security-token;x-acs-signature-nonce;x-acs-version, Signature=9693c8796cebd26eccbf24393a877e9567fdf1f96b8e1df22b44efe181e280e1",
                    ]) { $1 })
            }, time: "2026-11-21T06:50:06Z", securityToken: "sts-token"),
        Captured(
            name: "C: RPC",
            request: {
                try WireRequest(
                    method: "POST",
                    query:
                        "AppId=app-1&TaskId=task-1&Version=2016-11-01&Action=StopLiveMPUTask&Format=JSON&RegionId=cn-shanghai&Timestamp=2026-11-21T06%3A48%3A56Z&SignatureMethod=HMAC-SHA1&SignatureType=&SignatureVersion=1.0&SignatureNonce=add8220761450c6b7e28b8e54a823b20&AccessKeyId=testid&Signature=SRsBMW6Pas0QNSE8PbKtD9IkjA4%3D",
                    headers: ["x-acs-action": "StopLiveMPUTask", "x-acs-version": "2016-11-01"])
            }, time: "2026-11-21T06:48:56Z"),
        Captured(
            name: "D: RPC with a form",
            request: {
                try WireRequest(
                    method: "POST",
                    query:
                        "AppId=app-1&ChannelId=room1&LayoutIds.1=1&SubSpecUsers.1=u1&SubSpecUsers.2=u2&TaskId=task-1&UserPanes.1.PaneId=0&UserPanes.1.UserId=u1&UserPanes.1.SourceType=camera&UserPanes.11.Url=http%3A%2F%2Fi&UserPanes.11.X=0&Version=2018-01-11&Action=StartMPUTask&Format=JSON&RegionId=cn-shanghai&Timestamp=2026-11-21T06%3A48%3A57Z&SignatureMethod=HMAC-SHA1&SignatureType=&SignatureVersion=1.0&SignatureNonce=36bf82fc41aef3ee0beb59f4723a4b94&AccessKeyId=testid&Signature=EZYWrAnm%2F5E2DHBe5rfTdA%2BixC8%3D",
                    headers: ["content-type": "application/x-www-form-urlencoded"],
                    body: Array("EnhancedParam.EnablePortraitSegmentation=True".utf8))
            }, time: "2026-11-21T06:48:57Z"),
    ]

    @Test(arguments: vectors) func theVectorIsRight(_ vector: Captured) throws {
        let authenticator = try vector.authenticator()
        let key = try authenticator.accessKey(of: try vector.request())
        #expect(key.id == "testid" && key.app == "app-1")
        // A request is accepted only once.
        #expect(Self.refusal(try vector.request(), authenticator)?.code == "SignatureNonceUsed")
    }

    @Test func theCanonicalRequestsAreThoseOfTheVectors() throws {
        let request = try Self.vectors[0].request()
        let header = try #require(request.headers["authorization"])
        let authorization = try #require(WireSignature.ACS3.Authorization(header))
        let canonical = WireSignature.ACS3.canonicalRequest(
            request, authorization.signedHeaders, bodyDigest: WireSignature.ACS3.digest(of: []))
        #expect(String(decoding: canonical, as: UTF8.self).contains("host%201%22%7D&StreamURL"))
        #expect(
            WireSignature.ACS3.stringToSign(canonical)
                == "ACS3-HMAC-SHA256\naae6d8693817341283fdf9b8d8a90f1b9046fd0db77d3003508a44e1d9c59f31")
        let other = try Self.vectors[1].request()
        #expect(
            String(decoding: WireParameters.canonical(other.query.pairs), as: UTF8.self)
                == "AppId=app%201%2A~%2B%C3%A9%2F%E4%B8%AD&TaskId=task-1")
        let form = try Self.vectors[3].request()
        let stringToSign = WireSignature.RPC.stringToSign(method: "POST", form.parameters)
        #expect(
            stringToSign.contains(
                "UserPanes.1.UserId%3Du1%26UserPanes.11.Url%3Dhttp%253A%252F%252Fi%26UserPanes.11.X%3D0%26Version"))
        #expect(stringToSign.contains("EnhancedParam.EnablePortraitSegmentation%3DTrue%26Format"))
    }

    // MARK: Tampering

    private static func refusal(_ request: WireRequest, _ authenticator: WireAuthenticator) -> CallError? {
        do throws(CallError) {
            _ = try authenticator.accessKey(of: request)
            return nil
        } catch {
            return error
        }
    }

    private func refusal(_ request: WireRequest, _ vector: Captured) throws -> CallError? {
        Self.refusal(request, try vector.authenticator())
    }

    /// Returns the query with one parameter changed, with one left out, and with one added.
    private func altered(_ request: WireRequest) throws -> [(String, WireRequest)] {
        let pairs = request.query.pairs
        func query(_ pairs: [WireParameters.Pair]) -> String {
            var bytes: [UInt8] = []
            for pair in pairs {
                bytes.append(UInt8(ascii: "&"))
                PercentEncoding.append(pair.name.utf8, to: &bytes)
                bytes.append(UInt8(ascii: "="))
                PercentEncoding.append(pair.value.utf8, to: &bytes)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        var requests: [(String, WireRequest)] = []
        for index in pairs.indices {
            var changed = pairs
            changed[index].value += "x"
            var shorter = pairs
            shorter.remove(at: index)
            for (what, pairs) in [("changed", changed), ("left out", shorter)] {
                // The signature itself is only changed, not left out.
                if pairs.count < changed.count, request.query.pairs[index].name == "Signature" { continue }
                requests.append(
                    (
                        "\(request.query.pairs[index].name) \(what)",
                        try WireRequest(
                            method: request.method, query: query(pairs), headers: request.headers, body: request.body)
                    ))
            }
        }
        let more = query(pairs + [WireParameters.Pair(name: "More", value: "1")])
        requests.append(
            (
                "one more",
                try WireRequest(method: request.method, query: more, headers: request.headers, body: request.body)
            ))
        requests.append(
            (
                "method",
                try WireRequest(method: "GET", query: query(pairs), headers: request.headers, body: request.body)
            ))
        requests.append(
            (
                "body",
                try WireRequest(
                    method: request.method, query: query(pairs), headers: request.headers,
                    body: request.body + Array("&More=1".utf8))
            ))
        return requests
    }

    @Test(arguments: vectors) func whatWasTamperedWithIsRefused(_ vector: Captured) throws {
        let request = try vector.request()
        var requests = try altered(request)
        if let authorization = request.headers["authorization"] {
            let signed = try #require(WireSignature.ACS3.Authorization(authorization)).signedHeaders
            for name in signed + ["authorization"] {
                for (what, value) in [("changed", request.headers[name].map { $0 + "0" }), ("left out", nil)] {
                    if name == "authorization", value == nil { continue }
                    var headers = request.headers
                    headers[name] = value
                    requests.append(
                        (
                            "\(name) \(what)",
                            try WireRequest(
                                method: "POST", query: Self.rawQuery(request), headers: headers, body: request.body)
                        ))
                }
            }
        }
        for (name, request) in requests {
            let isForm = name == "body" && request.headers["content-type"] == nil
            // A body without a type is no form, and an RPC signature does not cover it; the service does not read it.
            if isForm, request.headers["authorization"] == nil { continue }
            let error = try refusal(request, vector)
            #expect(error != nil, "\(name)")
            #expect(error?.status.kind == .clientError && error?.code.isEmpty == false, "\(name)")
        }
        #expect(requests.count >= 8)
    }

    private static func rawQuery(_ request: WireRequest) -> String {
        String(decoding: WireParameters.canonical(request.query.pairs), as: UTF8.self)
    }

    @Test func whatIsWrongIsNamed() throws {
        func code(_ vector: Captured, _ name: String, _ value: String?) throws -> String? {
            let request = try vector.request()
            var headers = request.headers
            headers[name] = value
            let other = try WireRequest(
                method: request.method, query: Self.rawQuery(request), headers: headers, body: request.body)
            return try refusal(other, vector)?.code
        }
        let (acs3, token) = (Self.vectors[0], Self.vectors[1])
        let original = try acs3.request()
        let signed = try #require(original.headers["authorization"])
        let unknown = signed.replacing("testid", with: "nobody")
        let unsigned = signed.replacing(";x-acs-version", with: "")
        for (name, value, expected) in [
            ("authorization", nil, "MissingAccessKeyId"),
            ("authorization", "ACS3-HMAC-SM3 Credential=a,SignedHeaders=b,Signature=c", "UnsupportedSignatureMethod"),
            ("authorization", "Bearer testid", "UnsupportedSignatureMethod"),
            ("authorization", "ACS3-HMAC-SHA256 Credential=testid", "IncompleteSignature"),
            ("authorization", unknown, "InvalidAccessKeyId.NotFound"),
            ("authorization", unsigned, "IncompleteSignature"),
            ("x-acs-date", "yesterday", "InvalidTimeStamp.Format"),
            ("x-acs-date", "2026-11-21T06:27:03Z", "InvalidTimeStamp.Expired"),
            ("x-acs-date", "2026-11-21T06:59:03Z", "InvalidTimeStamp.Expired"),
            ("x-acs-date", "2026-11-21T06:44:03Z", "SignatureDoesNotMatch"),
            ("x-acs-security-token", "more", "IncompleteSignature"),
        ] {
            #expect(try code(acs3, name, value) == expected, "\(name): \(value ?? "none")")
        }
        #expect(try code(token, "x-acs-accesskey-id", "other") == "IncompleteSignature")

        let request = try Self.vectors[2].request()
        let query = Self.rawQuery(request)
        func rpc(_ query: String) throws -> CallError? {
            try refusal(WireRequest(method: "POST", query: query, headers: [:]), Self.vectors[2])
        }
        let mismatch = try rpc(query.replacing("task-1", with: "task-2"))
        #expect(mismatch?.code == "SignatureDoesNotMatch")
        // SDKs use the text after the colon.
        #expect(
            mismatch?.message.hasPrefix(
                "Specified signature is not matched with our calculation. server string to sign is:POST&%2F&AccessKeyId"
            )
                == true)
        #expect(try rpc(query.replacing("HMAC-SHA1", with: "HMAC-MD5"))?.code == "UnsupportedSignatureMethod")
        #expect(
            try rpc(query.replacing("SignatureVersion=1.0", with: "SignatureVersion=2"))?.code
                == "UnsupportedSignatureMethod")
        #expect(
            try rpc(query.replacing("AccessKeyId=testid", with: "AccessKeyId=other"))?.code
                == "InvalidAccessKeyId.NotFound")
        #expect(try rpc("AccessKeyId=testid")?.code == "IncompleteSignature")
        #expect(try rpc("")?.code == "MissingAccessKeyId")
    }

    @Test func securityTokensAreTakenWhereTheyAreConfigured() throws {
        func code(_ vector: Captured, token: String?) throws -> String? {
            let authenticator = try vector.authenticator { $0 = token }
            return Self.refusal(try vector.request(), authenticator)?.code
        }
        #expect(try code(Self.vectors[1], token: "sts-token") == nil)
        #expect(try code(Self.vectors[1], token: "another") == "InvalidSecurityToken.MismatchWithAccessKey")
        #expect(try code(Self.vectors[1], token: nil) == "InvalidSecurityToken.MismatchWithAccessKey")
        #expect(try code(Self.vectors[0], token: "sts-token") == "MissingSecurityToken")
    }

    @Test func withoutAccessKeysTheCureIsTold() throws {
        let error = Self.refusal(try Self.vectors[0].request(), WireAuthenticator(AccessKeys()))
        #expect(error?.code == "OperationDenied" && error?.status == .forbidden)
        #expect(error?.message.contains("accessKeys") == true)
    }

    @Test func anAccessKeyShowsItsIdAlone() {
        let key = AccessKey(id: "testid", secret: "much-too-secret-to-show", securityToken: "a-token-too", app: "a")
        var dumped = ""
        dump(key, to: &dumped)
        var all = AccessKeys()
        let (isNew, isNewAgain) = (all.add(key), all.add(key))
        #expect(isNew && !isNewAgain)
        for text in ["\(key)", String(reflecting: key), dumped, "\(all)", String(reflecting: [key])] {
            #expect(!text.contains("much-too-secret") && !text.contains("a-token-too"), "\(text)")
        }
    }

    // MARK: Parameters

    @Test func formsAreDecodedAsFormsAndSignedAsTheyMean() throws {
        let parameters = try WireParameters(["a=1+2%2B3&b=%E4%B8%AD&c=&d&e=%zz%4&%66=g%3Dh&"].map { Array($0.utf8) })
        #expect(parameters["a"] == "1 2+3" && parameters["b"] == "中" && parameters["c"] == nil)
        #expect(parameters["d"] == nil && parameters["e"] == "%zz%4" && parameters["f"] == "g=h")
        #expect(parameters.pairs.count == 6)
        #expect(throws: CallError.self) { try WireParameters([Array("a=1&a=1".utf8)]) }
        #expect(throws: CallError.self) { try WireParameters(["a=1", "a=2"].map { Array($0.utf8) }) }
        let many = (0...WireParameters.most).map { "p\($0)=" }.joined(separator: "&")
        #expect(throws: CallError.self) { try WireParameters([Array(many.utf8)]) }
        let list = try WireParameters([Array("E.10=j&E.2=b&E.1=a&E.3=".utf8)])
        #expect(try list.list("E", atMost: 4) == ["a", "b", "j"])
        #expect(throws: CallError.self) { try list.list("E", atMost: 2) }
    }
}
