import Foundation
import TestSupport
import Testing

@testable import ObjectStorage

struct StorageAnswerTests {
    private static let checksum = ObjectChecksum(Data("body".utf8))

    private static func answer(_ status: Int, _ body: String = "", _ headers: [String: String] = [:]) -> StorageAnswer {
        StorageAnswer(status: status, headers: headers, body: Array(body.utf8))
    }

    private static func error(_ code: String) -> String {
        "<?xml version=\"1.0\"?>\n<Error><Code>\(code)</Code><Message>S3CR3T</Message></Error>"
    }

    @Test func goodAnswersAreRead() throws {
        #expect(try Self.answer(200).result(of: .put(Self.checksum)) == .stored)
        let created = "<InitiateMultipartUploadResult><UploadId>a&amp;b-_</UploadId></InitiateMultipartUploadResult>"
        #expect(try Self.answer(200, created).result(of: .create) == .created(upload: "a&b-_"))
        #expect(
            try Self.answer(200, "", ["etag": "\"x\""]).result(of: .part(1, upload: "u", Self.checksum))
                == .part(StoredPart(tag: "\"x\"", checksum: Self.checksum)))
        let made = "<CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag></CompleteMultipartUploadResult>"
        #expect(try Self.answer(200, made).result(of: .complete(upload: "u", [])) == .stored)
        for status in [204, 404] { #expect(try Self.answer(status).result(of: .abort(upload: "u")) == .aborted) }
        #expect(try Self.answer(404).result(of: .look) == .missing)
        #expect(
            try Self.answer(200, "", ["content-length": "4", "x-amz-checksum-sha256": "s"]).result(of: .look)
                == .found(StoredObject(bytes: 4, sha256: "s")))
    }

    @Test(arguments: [
        (403, "SignatureDoesNotMatch", StorageFault.Code.signature), (403, "InvalidAccessKeyId", .signature),
        (403, "AccessDenied", .accessDenied), (403, "RequestTimeTooSkewed", .clock), (401, "", .accessDenied),
        (404, "NoSuchBucket", .bucketMissing), (404, "NoSuchUpload", .partsLost), (400, "InvalidPart", .partsRefused),
        (400, "BadDigest", .corrupted), (400, "XAmzContentSHA256Mismatch", .corrupted), (400, "Other", .refused),
        (301, "PermanentRedirect", .redirected), (307, "", .redirected), (429, "", .slowDown),
        (503, "SlowDown", .slowDown),
        (500, "InternalError", .serverError), (502, "", .serverError), (408, "", .timeout), (101, "", .corrupted),
        (405, "", .refused),
    ]) func faultsAreTold(status: Int, code: String, expected: StorageFault.Code) {
        let answer = Self.answer(status, code.isEmpty ? "" : Self.error(code))
        for call in [StorageCall.put(Self.checksum), .create, .complete(upload: "u", [])] {
            #expect { try answer.result(of: call) } throws: {
                let fault = $0 as? StorageFault
                return fault?.code == expected && fault?.message.contains("S3CR3T") == false
            }
        }
    }

    @Test func anErrorInAGoodAnswerIsOne() {
        for (body, code) in [
            (Self.error("InternalError"), StorageFault.Code.serverError), (Self.error("Odd"), .serverError),
            ("", .corrupted), ("<html>login</html>", .corrupted), ("<ETag>", .corrupted),
        ] {
            #expect { try Self.answer(200, body).result(of: .complete(upload: "u", [])) } throws: {
                ($0 as? StorageFault)?.code == code
            }
        }
    }

    @Test(arguments: [
        "", "<UploadId></UploadId>", "<UploadId>a b</UploadId>", "<UploadId>a\nb</UploadId>", "<UploadId>a",
        "</UploadId><UploadId>", "<UploadId><b/></UploadId>",
        "<UploadId>\(String(repeating: "a", count: 1025))</UploadId>",
    ]) func anUploadWithoutAProperNameIsCorrupted(body: String) {
        #expect { try Self.answer(200, body).result(of: .create) } throws: { ($0 as? StorageFault)?.code == .corrupted }
    }

    @Test func tagsAndLengthsMustBeThere() {
        for headers in [[:], ["etag": ""], ["etag": "a b"], ["etag": "\u{1}"]] {
            #expect { try Self.answer(200, "", headers).result(of: .part(1, upload: "u", Self.checksum)) } throws: {
                ($0 as? StorageFault)?.code == .corrupted
            }
        }
        for length in [nil, "", "-1", "x", "99999999999999999999"] {
            #expect { try Self.answer(200, "", ["content-length": length ?? ""]).result(of: .look) } throws: {
                ($0 as? StorageFault)?.code == .corrupted
            }
        }
    }

    @Test func retryAfterIsBounded() {
        for (text, seconds) in [("7", 7), ("-3", 0), ("999999999", 86_400)] {
            #expect(Self.answer(503, "", ["retry-after": text]).fault.retryAfter == seconds)
        }
        #expect(Self.answer(503, "", ["retry-after": "Fri, 31 Dec 1999"]).fault.retryAfter == nil)
    }

    /// Any bytes can be read as an answer, including cut and changed ones of good answers.
    @Test func anyBytesAreAnAnswer() {
        var generator = SeededGenerator(announcedFor: "StorageAnswerTests")
        let good = Array("<A><Code>&amp;x</Code><UploadId>u</UploadId><ETag>&quot;e&quot;</ETag></A>".utf8)
        for _ in 0..<TestLength.of(short: 2000, long: 200_000) {
            var bytes = Array(good.prefix(.random(in: 0...good.count, using: &generator)))
            for _ in 0..<Int.random(in: 0...4, using: &generator) where !bytes.isEmpty {
                bytes[.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            let status = [0, 200, 204, 301, 403, 404, 500, Int.max, -1].randomElement(using: &generator) ?? 0
            let answer = StorageAnswer(status: status, body: bytes)
            for call in [StorageCall.create, .look, .complete(upload: "u", []), .abort(upload: "u")] {
                if case .created(let upload)? = try? answer.result(of: call) { #expect(AnswerText.isToken(upload)) }
            }
        }
    }

    @Test func objectsAreComparedByTheBestChecksumThereIs() {
        let whole = Self.checksum
        let parts = ObjectChecksum(parts: [whole, whole])
        func same(_ object: StoredObject, _ checksum: ObjectChecksum) -> Bool? { object.isSame(bytes: 4, as: checksum) }
        #expect(same(StoredObject(bytes: 5, sha256: whole.sha256), whole) == false)
        #expect(same(StoredObject(bytes: 4, sha256: whole.sha256), whole) == true)
        #expect(same(StoredObject(bytes: 4, sha256: "other", tag: "\"\(whole.md5)\""), whole) == false)
        #expect(same(StoredObject(bytes: 4, tag: "\"\(whole.md5.uppercased())\""), whole) == true)
        #expect(same(StoredObject(bytes: 4, tag: "\"0123\""), whole) == nil)
        #expect(same(StoredObject(bytes: 4), whole) == nil)
        #expect(same(StoredObject(bytes: 4, sha256: parts.sha256), parts) == true)
        #expect(same(StoredObject(bytes: 4, sha256: String(parts.sha256.dropLast(2))), parts) == true)
        #expect(same(StoredObject(bytes: 4, tag: "\"\(parts.md5)\""), parts) == true)
        #expect(same(StoredObject(bytes: 4, sha256: whole.sha256), parts) == false)
    }

    @Test func checksumsOfPartsAreThoseOfTheirDigests() {
        // The output of `printf body | sha256sum`, and that for two of its digests; the same with md5sum.
        #expect(Self.checksum.hexadecimalSHA256 == "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5")
        #expect(Self.checksum.md5 == "841a2d689ad86bd1611447453c22c6fc")
        let parts = ObjectChecksum(parts: [Self.checksum, Self.checksum])
        #expect(
            parts.sha256 == "yFiSQEk2Nd6k6KF6Smk5ch33dMkBnRgybGTYA2RuGZU=-2"
                && parts.md5 == "9879f4a51910b7b9bd9f01c29ac89943-2")
    }
}
