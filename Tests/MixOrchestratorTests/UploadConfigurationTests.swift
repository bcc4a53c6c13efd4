import Foundation
import ObjectStorage
import RoomService
import Testing

@testable import MixOrchestrator

/// The configuration of uploads.
struct UploadConfigurationTests {
    private static func uploads(
        _ text: String, environment: [String: String] = [:]
    ) throws -> UploadConfiguration? {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("up-\(UUID().uuidString).yaml")
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        defer { try? FileManager.default.removeItem(at: file) }
        return try OrchestratorConfiguration(
            ConfigurationKeys.reader(file: file.path, environment: environment), file: file.path
        ).uploads
    }

    private static let storage = "endpoint: \"https://s3.example\", bucket: b, accessKey: AKID"

    @Test func theyAreOnWithAnEndpoint() throws {
        for off in ["", "upload: { local: remove }", "upload: { backup: { style: host } }"] {
            #expect(try Self.uploads(off) == nil)
        }
        let plain = try #require(try Self.uploads("upload: { \(Self.storage), secretKey: S3CR3T-of }"))
        #expect(plain.settings.targets.map(\.name) == [.main] && plain.warnings.isEmpty)
        #expect(plain.settings.keepsFiles && !plain.settings.trustsSize && plain.settings.bytesPerSecond == nil)
        #expect(plain.takesRecordings && plain.takesArchives && plain.settings.partBytes == 8 << 20)
        #expect(plain.settings.targets[0].place.region == "us-east-1" && plain.settings.targets[0].place.style == .path)
        let full = try #require(
            try Self.uploads(
                "upload: { \(Self.storage), secretKey: S3CR3T-of, style: host, prefix: \"x/{room}-{file}\", local: remove, "
                    + "verify: size, bytesPerSecond: 100000, recordings: false, linkSeconds: 60, giveUpHours: 1.5, "
                    + "backup: { endpoint: \"http://10.0.0.7:9000\", bucket: c, accessKey: k, secretKey: S3CR3T-too } }"
            ))
        #expect(full.settings.targets.map(\.name) == [.main, .backup])
        #expect(!full.settings.keepsFiles && full.settings.trustsSize && full.settings.bytesPerSecond == 100_000)
        #expect(!full.takesRecordings && full.settings.giveUpAfter == .seconds(5400))
        #expect(full.settings.targets[0].place.key(room: "r", file: "f") == "x/r-f")
        #expect(full.warnings.count == 1 && full.warnings[0].contains("not encrypted"))
    }

    @Test func theSecretMayBeInAFileOrInTheEnvironment() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("up-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data("S3CR3T/key+0=\n".utf8).write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: file)
        let fromFile = try #require(try Self.uploads("upload: { \(Self.storage), secretKeyFile: \(file) }"))
        #expect(fromFile.warnings.count == 1 && fromFile.warnings[0].contains("chmod o="))
        let expected = StorageCredentials(accessKey: "AKID", secretKey: "S3CR3T/key+0=")
        #expect(fromFile.settings.targets[0].keys.current == expected)
        let fromEnvironment = try Self.uploads(
            "upload: { \(Self.storage) }", environment: ["MIXORCHESTRATOR_UPLOAD_SECRET_KEY": "S3CR3T/key+0="])
        #expect(fromEnvironment?.settings.targets[0].keys.current == expected)
        var dumped = ""
        dump(fromFile, to: &dumped)
        #expect(!dumped.contains("S3CR3T"))
    }

    @Test func keysMayBeInAFileThatIsReadAgain() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("up-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        func write(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }
        try write("aws_access_key_id = A1\naws_secret_access_key = S3CR3T-of-1\naws_session_token = S3CR3T1\n")
        let settings = "upload: { endpoint: \"https://h\", bucket: b, credentialsFile: \(file) }"
        let uploads = try #require(try Self.uploads(settings))
        #expect(uploads.warnings.count == 1 && uploads.warnings[0].contains("chmod o="))
        let keys = uploads.settings.targets[0].keys
        #expect(keys.current == StorageCredentials(accessKey: "A1", secretKey: "S3CR3T-of-1", sessionToken: "S3CR3T1"))
        try write("aws_access_key_id = A2\n")
        #expect(keys.current.accessKey == "A1", "half written")
        try write("aws_access_key_id = A2\naws_secret_access_key = S3CR3T-of-2\n")
        #expect(keys.current == StorageCredentials(accessKey: "A2", secretKey: "S3CR3T-of-2"))
        try FileManager.default.removeItem(atPath: file)
        #expect(keys.current.accessKey == "A2")
        var dumped = ""
        dump(uploads, to: &dumped)
        #expect(!dumped.contains("S3CR3T"))
        #expect { try Self.uploads(settings) } throws: { "\($0)".contains("upload.credentialsFile") }
    }

    @Test(arguments: [
        ("endpoint: \"https://u:S3CR3T-of@h\", bucket: b, accessKey: a, secretKey: S3CR3T-of", "upload.endpoint"),
        ("endpoint: \"https://h\", accessKey: a, secretKey: S3CR3T-of", "upload.bucket"),
        ("endpoint: \"https://h\", bucket: b, secretKey: S3CR3T-of", "upload.accessKey"),
        ("endpoint: \"https://h\", bucket: b, accessKey: a", "upload.secretKey"),
        ("endpoint: \"https://h\", bucket: b, accessKey: a, secretKey: S3CR3T", "upload.secretKey"),
        ("endpoint: \"https://h\", bucket: b, accessKey: a/b, secretKey: S3CR3T-of", "upload.accessKey"),
        ("endpoint: \"https://h\", bucket: b, accessKey: a, secretKey: S3CR3T-of, prefix: x", "upload.prefix"),
        ("endpoint: \"https://h\", bucket: b, accessKey: a, credentialsFile: /dev/null", "upload.credentialsFile"),
        ("endpoint: \"https://h\", bucket: b, credentialsFile: /dev/null", "upload.credentialsFile"),
        ("endpoint: \"https://h\", bucket: b, accessKey: a, secretKey: S3CR3T-of, style: vhost", "upload.style"),
        (
            "endpoint: \"https://h\", bucket: b, accessKey: a, secretKey: S3CR3T-of, bytesPerSecond: 5",
            "upload.bytesPerSecond"
        ),
        ("endpoint: \"https://h\", bucket: b, accessKey: a, secretKey: S3CR3T-of, partBytes: 1000", "upload.partBytes"),
        ("endpoint: \"https://h\", bucket: b, accessKey: a, secretKey: S3CR3T-of, local: delete", "upload.local"),
        ("bucket: b", "upload.endpoint"), ("secretKey: S3CR3T-of", "upload.endpoint"),
        (
            "backup: { endpoint: \"https://h\", bucket: b, accessKey: a, secretKey: S3CR3T-of }",
            "upload.backup.endpoint"
        ),
        ("\(storage), secretKey: S3CR3T-of, backup: { endpoint: \"https://h\" }", "upload.backup.secretKey"),
    ]) func whatIsMissingOrWrongIsNamed(settings: String, key: String) {
        #expect { try Self.uploads("upload: { \(settings) }") } throws: { error in
            "\(error)".contains("configuration: \(key)") && !"\(error)".contains("S3CR3T")
        }
    }
}
