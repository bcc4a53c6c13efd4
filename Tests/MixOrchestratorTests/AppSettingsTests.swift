import Foundation
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

@Suite struct AppSettingsTests {
    private static let token = "0123456789abcdef0123"

    private func configuration(
        _ yaml: String, environment: [String: String] = [:], permissions: Int = 0o600
    ) throws -> OrchestratorConfiguration {
        let file = "/tmp/edge-\(UUID().uuidString).yaml"
        try Data(yaml.utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file)
        defer { try? FileManager.default.removeItem(atPath: file) }
        return try OrchestratorConfiguration(
            ConfigurationKeys.reader(file: file, environment: environment), file: file)
    }

    @Test func appsAndTokensAreRead() throws {
        let configuration = try configuration(
            """
            http: { listen: "0.0.0.0:8080" }
            apps:
              - id: default
                accessKeys: []
                tokens:
                  - { token: one-0123456789abcdef, scopes: [events, read] }
                  - token: two-0123456789abcdef
                    scopes: tasks
              - id: shop
                tokens: [ { token: "three-0123456789abcdef", scopes: [layouts] } ]
            """)
        #expect(configuration.apps.ids == ["default", "shop"])
        #expect(configuration.listen.host == "0.0.0.0")
        #expect(configuration.apps.warnings.isEmpty)
        let tokens = configuration.apps.tokens
        #expect(
            tokens.caller(showing: "one-0123456789abcdef")
                == Caller(app: "default", scopes: [.events, .read], token: 0))
        #expect(tokens.caller(showing: "two-0123456789abcdef")?.scopes == [.tasks])
        #expect(tokens.caller(showing: "three-0123456789abcdef") == Caller(app: "shop", scopes: [.layouts], token: 2))
    }

    @Test func accessKeysAreReadFromFileAndEnvironment() throws {
        let secretFile = "/tmp/edge-\(UUID().uuidString).secret"
        try Data("  a-secret-in-a-file-of-its-own\n".utf8).write(to: URL(fileURLWithPath: secretFile))
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: secretFile)
        defer { try? FileManager.default.removeItem(atPath: secretFile) }
        let apps = try configuration(
            """
            apps:
              - id: shop
                accessKeys:
                  - { id: key-1, secret: one-0123456789abcdef }
                  - { id: key-2, secretFile: \(secretFile), securityToken: sts }
            """,
            environment: [
                "MIXORCHESTRATOR_APPS_1_ID": "other", "MIXORCHESTRATOR_APPS_1_ACCESS_KEYS_0_ID": "key-3",
                "MIXORCHESTRATOR_APPS_1_ACCESS_KEYS_0_SECRET": Self.token,
                "MIXORCHESTRATOR_APPS_1_ACCESS_KEYS_0_SECURITY_TOKEN": "sts-3",
            ]
        ).apps
        #expect(apps.accessKeys.ids == ["key-1", "key-2", "key-3"])
        #expect(apps.accessKeys["key-1"]?.app == "shop" && apps.accessKeys["key-3"]?.app == "other")
        #expect(apps.accessKeys["key-1"]?.needsSecurityToken == false)
        #expect(apps.accessKeys["key-2"]?.accepts(securityToken: "sts") == true)
        #expect(apps.accessKeys["key-3"]?.accepts(securityToken: nil) == false)
        #expect(apps.warnings.contains { $0.contains(secretFile) && $0.contains("chmod o=") })
        // Access keys open no other route, so the service still listens on loopback only.
        #expect(apps.tokens.isEmpty)
        #expect(throws: StartupError.self) {
            try self.configuration("", environment: ["MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_SEKRET": Self.token])
        }
    }

    @Test func theEnvironmentCanHoldThemToo() throws {
        let configuration = try configuration(
            "",
            environment: [
                "MIXORCHESTRATOR_APPS_0_ID": "shop", "MIXORCHESTRATOR_APPS_0_TOKENS_0_TOKEN": Self.token,
                "MIXORCHESTRATOR_APPS_0_TOKENS_0_SCOPES": "events,read",
            ])
        #expect(configuration.apps.tokens.caller(showing: Self.token)?.scopes == [.events, .read])
        let error = #expect(throws: StartupError.self) {
            try self.configuration("", environment: ["MIXORCHESTRATOR_APPS_0_TOKENS_0_TOKN": Self.token])
        }
        #expect(error?.description.contains(Self.token) == false)
    }

    @Test func aTokenFileIsReadAndItsPermissionsAreLookedAt() throws {
        let file = "/tmp/edge-\(UUID().uuidString)"
        try Data("  \(Self.token)\n".utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let yaml = "apps: [ { id: a, tokens: [ { tokenFile: \(file), scopes: [read] } ] } ]"
        for (mode, isOpen) in [(0o600, false), (0o640, false), (0o644, true)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            let configuration = try configuration(yaml, permissions: 0o644)
            #expect(configuration.apps.tokens.caller(showing: Self.token) != nil)
            // The configuration itself holds no token.
            #expect(configuration.apps.warnings.count == (isOpen ? 1 : 0))
        }
    }

    @Test func aConfigurationWithTokensShouldNotBeOpenToAll() throws {
        let yaml = "apps: [ { id: a, tokens: [ { token: \(Self.token), scopes: [read] } ] } ]"
        #expect(try configuration(yaml).apps.warnings.isEmpty)
        let warnings = try configuration(yaml, permissions: 0o644).apps.warnings
        #expect(warnings.count == 1 && warnings[0].contains("chmod"))
        #expect(!warnings[0].contains(Self.token))
    }

    @Test(arguments: [
        ("apps: 7", "apps: expected a list"), ("apps: [ shop ]", "apps: expected entries with id"),
        ("apps: [ { idd: a } ]", "Did you mean id?"), ("apps: [ { id: a }, { id: a } ]", "an id that no other app has"),
        ("apps: [ { id: \"a/b\" } ]", "apps.0.id: found \"a/b\""), ("apps: [ { id: \"..\" } ]", "expected 1 to 64"),
        ("apps: [ { tokens: [ { token: SECRET-0123456789abcdef, scopes: [read] } ] } ]", "apps.0.id: found nothing"),
        (
            "apps: [ { id: a, accessKeys: [ { id: AK, secret: SECRET-0123456789abcdef } ] } ]",
            "apps.0.accessKeys.0.id: found 2 bytes"
        ),
        ("apps: [ { id: a, accessKeys: [ { id: AKEY } ] } ]", "either secret or secretFile"),
        (
            "apps: [ { id: a, accessKeys: [ { secret: SECRET-0123456789abcdef } ] } ]",
            "apps.0.accessKeys.0.id: found nothing"
        ),
        ("apps: [ { id: a, accessKeys: [ { id: AKEY, secret: short } ] } ]", "16 to 512 printable"),
        (
            "apps: [ { id: a, accessKeys: [ { id: AKEY, secret: SECRET-0123456789abcdef, secretFile: /x } ] } ]",
            "either the secret or its file"
        ),
        ("apps: [ { id: a, accessKeys: [ { id: AKEY, secretFile: /none } ] } ]", "a readable file"),
        (
            "apps: [ { id: a, accessKeys: [ { id: AKEY, secret: SECRET-0123456789abcdef, sekret: x } ] } ]",
            "Did you mean secret?"
        ),
        (
            "apps: [ { id: a, accessKeys: [ { id: AKEY, secret: SECRET-0123456789abcdef } ] }, { id: b, accessKeys: [ { id: AKEY, secret: SECRET-0123456789abcdef } ] } ]",
            "an id that no other access key has"
        ),
        ("apps: [ { id: a, tokens: [ { token: SECRET, scopes: [read] } ] } ]", "16 to 512 printable ASCII"),
        ("apps: [ { id: a, tokens: [ { token: \"SECRET 0123456789abcdef\", scopes: [read] } ] } ]", "without spaces"),
        ("apps: [ { id: a, tokens: [ { token: SECRET-0123456789abcdef } ] } ]", "scopes: found nothing"),
        (
            "apps: [ { id: a, tokens: [ { token: SECRET-0123456789abcdef, scopes: [reed] } ] } ]",
            "found \"reed\"; expected one or more of events, tasks, layouts, read, priority"
        ),
        ("apps: [ { id: a, tokens: [ { scopes: [read] } ] } ]", "either token or tokenFile"),
        (
            "apps: [ { id: a, tokens: [ { token: SECRET-0123456789abcdef, tokenFile: /x, scopes: [read] } ] } ]",
            "found both"
        ),
        ("apps: [ { id: a, tokens: [ { tokenFile: /nowhere, scopes: [read] } ] } ]", "a readable file"),
        (
            "apps: [ { id: a, tokens: [ { user: u }, { token: SECRET-0123456789abcdef, scopes: [read] } ] } ]",
            "apps.0.tokens.0: found nothing; expected either token or tokenFile"
        ),
        ("apps: [ { id: a, accessKeys: [ { securityToken: SECRET } ] } ]", "apps.0.accessKeys.0.id: found nothing"),
        ("apps: [ { callbackKey: SECRET0123456789 } ]", "apps.0.id: found nothing"),
        (
            "apps: [ { id: a, tokens: [ { token: SECRET-0123456789abcdef, scopes: [read] },"
                + " { token: SECRET-0123456789abcdef, scopes: [tasks] } ] } ]", "a different token for each entry"
        ),
        ("apps: [ { id: a, tokens: [ { tokn: SECRET-0123456789abcdef } ] } ]", "Did you mean token?"),
        ("http: { rate: { requests: -1 } }", "0…10000000"), ("http: { maxConnections: 0 }", "1…1000000"),
        ("http: { listen: \"0.0.0.0:80\" }\napps: [ { id: a } ]", "Configure tokens under apps"),
    ])
    func whatIsWrongIsNamedWithoutTheToken(_ yaml: String, _ expected: String) {
        let error = #expect(throws: StartupError.self) { try configuration(yaml) }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("SECRET") == false)
    }

    @Test func noSecretOfTheEnvironmentIsIgnored() {
        for (list, id, expected) in [
            ("TOKENS_1_TOKEN", "shop", "apps.0.tokens.0: found nothing; expected tokens numbered without gaps"),
            ("TOKENS_1_TOKEN", "", "apps.0.id: found nothing"),
            ("ACCESS_KEYS_2_SECRET", "shop", "apps.0.accessKeys.0: found nothing; expected access keys numbered"),
        ] {
            let environment = [
                "MIXORCHESTRATOR_APPS_0_ID": id, "MIXORCHESTRATOR_APPS_0_\(list)": "SECRET-0123456789abcdef",
            ]
            let error = #expect(throws: StartupError.self) { try configuration("", environment: environment) }
            #expect(error?.description.contains(expected) == true, "\(list): \(error?.description ?? "")")
            #expect(error?.description.contains("SECRET") == false)
        }
    }

    @Test func moreAppsThanAllowedAreRefused() throws {
        func apps(_ count: Int) throws -> OrchestratorConfiguration {
            try configuration("apps:\n" + (0..<count).map { "  - id: a\($0)\n" }.joined())
        }
        #expect(try apps(256).apps.ids.count == 256)
        let error = #expect(throws: StartupError.self) { try apps(257) }
        #expect(error?.description.contains("at most 256 apps") == true, "\(error?.description ?? "")")
    }

    @Test func limitsAreRead() throws {
        let configuration = try configuration(
            "http: { maxConnections: 7, idleTimeout: 8, requestTimeout: 9, rate: { requests: 10, events: 0 } }")
        #expect(configuration.http.maxConnections == 7 && configuration.http.idleTimeout == 8)
        #expect(configuration.http.requestTimeout == 9)
        #expect(configuration.http.requestRate == 10 && configuration.http.eventRate == 0)
        #expect(configuration.http.failureRate == 20)
    }
}
