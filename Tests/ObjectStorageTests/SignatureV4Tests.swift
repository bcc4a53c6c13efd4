import Crypto
import Foundation
import Testing
import TextFormats

@testable import ObjectStorage

/// The examples in Amazon's documentation: "Signature Calculations for the Authorization Header" and "Authenticating
/// Requests: Using Query Parameters" of the S3 API Reference, and "Deriving the signing key" of the General Reference.
struct SignatureV4Tests {
    private static let signature = SignatureV4(
        credentials: StorageCredentials(
            accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1")
    private static let time = SigningTime(seconds: 1_369_353_600)
    private static let host = "examplebucket.s3.amazonaws.com"

    @Test func timeIsWrittenInBothForms() {
        #expect(Self.time.text == "20130524T000000Z" && Self.time.day == "20130524")
        #expect(SigningTime(seconds: 951_782_399).text == "20000228T235959Z")
        #expect(SigningTime(seconds: -.infinity).text == "19700101T000000Z")
        #expect(SigningTime(seconds: 1e300).day == "99991231")
    }

    private static func authorization(
        _ method: String, _ path: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [],
        body: String = ""
    ) -> String {
        let request = SignatureV4.Request(
            method: method, path: path, query: query, headers: [("Host", host)] + headers,
            payload: ObjectChecksum(Data(body.utf8)).hexadecimalSHA256)
        let headers = signature.headers(for: request, at: time)
        return headers.first { $0.name == "authorization" }?.value ?? ""
    }

    @Test func anObjectIsFetched() {
        #expect(
            Self.authorization("GET", "/test.txt", headers: [("Range", "bytes=0-9")])
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func anObjectIsStored() {
        let headers: [(name: String, value: String)] = [
            ("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ]
        let value = Self.authorization(
            "PUT", "/test%24file.text", headers: headers, body: "Welcome to Amazon S3.")
        #expect(value.hasSuffix("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"))
    }

    @Test func queriesAreOrderedAndEncoded() {
        #expect(
            Self.authorization("GET", "/", query: [("lifecycle", "")])
                .hasSuffix("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"))
        #expect(
            Self.authorization("GET", "", query: [("prefix", "J"), ("max-keys", "2")])
                .hasSuffix("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
        #expect(
            SignatureV4.canonicalQuery([("b", "2 /ä"), ("a", "+"), ("a", "")])
                == "a=&a=%2B&b=2%20%2F%C3%A4")
    }

    @Test func aLinkIsSigned() {
        let query = Self.signature.query(host: Self.host, path: "/test.txt", at: Self.time, seconds: 86_400)
        #expect(
            query == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    /// The signatures equal those of botocore, Amazon's library for Python, for the same requests.
    @Test func temporaryKeysProveThemselves() {
        let token = "FQoDYXdzEPT//////////wEXAMPLE+token/of="
        let signature = SignatureV4(
            credentials: StorageCredentials(
                accessKey: "ASIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                sessionToken: token), region: "us-east-1")
        let request = SignatureV4.Request(
            method: "GET", path: "/test.txt", headers: [("host", Self.host), ("range", "bytes=0-9")],
            payload: ObjectChecksum.ofNothing)
        let headers = signature.headers(for: request, at: Self.time)
        #expect(headers.first { $0.name == "x-amz-security-token" }?.value == token)
        #expect(
            headers.first { $0.name == "authorization" }?.value.hasSuffix(
                "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
                    + "Signature=cc7ac031a38c23a85732430799282e3e89f7251742a464a8e33d9a96bd9ef193") == true)
        let query = signature.query(host: Self.host, path: "/test.txt", at: Self.time, seconds: 86_400)
        #expect(
            query.contains("&X-Amz-Security-Token=FQoDYXdzEPT%2F%2F%2F%2F%2F%2F%2F%2F%2F%2FwEXAMPLE%2Btoken%2Fof%3D&"))
        #expect(query.hasSuffix("Signature=f3e9704dc0381dc044fe7ac1064598c9ae3415bab4ec368d37a4b2966d0a0e29"))
    }

    @Test func keysAreReadAsAmazonsToolsWriteThem() {
        let file = """
            # written by a tool
            [other]
            aws_access_key_id = NO
            [default]
            aws_access_key_id = ASIA1
            AWS_SECRET_ACCESS_KEY=S3CR3T/of+a=
              aws_session_token =\tTOKEN==
            region = eu-west-1
            [third]
            aws_session_token = NO
            """
        let expected = StorageCredentials(accessKey: "ASIA1", secretKey: "S3CR3T/of+a=", sessionToken: "TOKEN==")
        #expect(StorageCredentials(file: file) == expected)
        let plain = "aws_access_key_id=a\r\naws_secret_access_key=12345678\r\naws_session_token=\r\n"
        #expect(StorageCredentials(file: plain) == StorageCredentials(accessKey: "a", secretKey: "12345678"))
        for bad in [
            "", "[default]\n", "aws_access_key_id=a", "aws_access_key_id=a/b\naws_secret_access_key=12345678",
            "aws_access_key_id=a\naws_secret_access_key=1234567", "[x]\n" + plain,
            plain + "aws_session_token=a b\n", plain + "aws_session_token=\(String(repeating: "a", count: 4097))\n",
        ] {
            #expect(StorageCredentials(file: bad) == nil, "\(bad)")
        }
    }

    @Test func theKeyOfADayIsDerived() {
        let signature = SignatureV4(
            credentials: StorageCredentials(
                accessKey: "", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            region: "us-east-1", service: "iam")
        let key = signature.signingKey(day: "20120215").withUnsafeBytes { Hexadecimal.text($0) }
        #expect(key == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d")
    }

    @Test func valuesOfHeadersAreTrimmed() {
        let request = SignatureV4.Request(
            method: "GET", path: "/", headers: [("X-B", "  a   b "), ("host", "h")], payload: "p")
        #expect(SignatureV4.canonical(request) == "GET\n/\n\nhost:h\nx-b:a b\n\nhost;x-b\np")
    }

    @Test func noTextOfCredentialsHoldsTheSecret() {
        let credentials = StorageCredentials(
            accessKey: "AKID", secretKey: "S3CR3T-of-a-storage", sessionToken: "S3CR3T-token")
        var dumped = ""
        dump(credentials, to: &dumped)
        let texts = [
            "\(credentials)", String(reflecting: credentials), dumped, "\([credentials])",
            "\(Optional(credentials) as Any)",
        ]
        for text in texts { #expect(!text.contains("S3CR3T") && text.contains("AKID"), "\(text)") }
    }
}
