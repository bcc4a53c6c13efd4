import Foundation
import HTTPInterface
import RoomService
import TaskStore
import Testing

@testable import MixOrchestrator

/// HTTPS on the service's own port, with curl and openssl as clients.
@Suite(.timeLimit(.minutes(5))) struct HTTPSTests {
    /// A self-signed certificate for localhost.
    private struct Pair {
        let certificate: String
        let key: String
        var settings: [String: [String]] {
            ["http.tls.certificateFile": [certificate], "http.tls.keyFile": [key]]
        }

        /// - Parameters:
        ///   - name: Common name, which tells certificates apart.
        ///   - days: Days of validity; -1 = expired.
        static func make(in directory: String, name: String = "first", days: Int = 60) async throws -> Pair {
            let pair = Pair(certificate: "\(directory)/certificate.pem", key: "\(directory)/key.pem")
            let newer = "\(directory)/newer"
            // `req -x509 -days` takes no negative number.
            let output = try await outputOfShell(
                """
                cd \(directory) && openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout newer.key \
                -subj /CN=\(name) -out newer.csr 2>/dev/null && echo subjectAltName=DNS:localhost > newer.ext && openssl x509 \
                -req -in newer.csr -signkey newer.key -days \(days) -extfile newer.ext -out newer.pem 2>/dev/null && echo made
                """)
            try #require(output == "made\n", "openssl makes no certificate")
            // Replaces each file at once, as renewals do.
            for (made, used) in [("key", pair.key), ("pem", pair.certificate)] {
                try #require(rename("\(newer).\(made)", used) == 0)
            }
            return pair
        }
    }

    private func withServer(
        name: String = "first", days: Int = 60, settings: [String: [String]] = [:],
        _ body: @escaping @Sendable (LiveService, _ address: String, _ certificate: String) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let pair = try await Pair.make(in: directory, name: name, days: days)
            try await withLiveService(directory: directory, settings: pair.settings.merging(settings) { $1 }) {
                service in
                try await body(service, "https://localhost:\(service.port)", pair.certificate)
            }
        }
    }

    private func curl(_ arguments: String) async throws -> String {
        try await outputOfShell("curl -sS -m 60 \(arguments) 2>&1")
    }

    @Test func servesTheAPIAndVerifiesAgainstTheCertificate() async throws {
        try await withServer { _, address, authority in
            #expect(
                try await curl(
                    "--cacert \(authority) -o /dev/null -w '%{http_code} %{http_version}' \(address)/healthz")
                    == "200 1.1")
            let created = try await curl(
                """
                --cacert \(authority) -o /dev/null -w '%{http_code}' \(address)/v1/rooms/show/events -d \
                '{"type":"stream.published","user":"ann","url":"rtmp://127.0.0.1/live/ann"}'
                """)
            #expect(created == "202")
            // The client refuses the certificate unless it is given as an authority.
            #expect(try await curl("\(address)/healthz").contains("certificate"))
        }
    }

    @Test func refusesOldProtocolsAndPlainHTTP() async throws {
        try await withServer { _, address, authority in
            let old = try await curl(
                "--cacert \(authority) --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0 \(address)/healthz")
            #expect(old.contains("curl: (35)"), "\(old)")
            #expect(
                try await curl("--cacert \(authority) --tls-max 1.2 -o /dev/null -w '%{http_code}' \(address)/healthz")
                    == "200")
            let plain = try await curl(address.replacing("https", with: "http"))
            #expect(plain.contains("curl: ("), "\(plain)")
            // The service continues.
            #expect(try await curl("--cacert \(authority) -o /dev/null -w '%{http_code}' \(address)/healthz") == "200")
        }
    }

    @Test func usesChangedFilesWithoutARestart() async throws {
        try await withServer { service, address, authority in
            @Sendable func subject() async throws -> String {
                try await outputOfShell(
                    "openssl s_client -connect localhost:\(service.port) </dev/null 2>/dev/null | openssl x509 -noout -subject"
                )
            }
            #expect(try await subject() == "subject=CN = first\n")
            // The key does not belong to the certificate, as between the two steps of a renewal.
            _ = try await outputOfShell("openssl genpkey -algorithm RSA -out \(service.directory)/key.pem 2>/dev/null")
            // A look at the half-written file logs another message first.
            let words =
                "the former certificate stays in use: \(service.directory)/key.pem: is not the key of \(authority)"
            try await eventually { service.log.text.contains(words) ? true : nil }
            #expect(try await subject() == "subject=CN = first\n")
            _ = try await Pair.make(in: service.directory, name: "second")
            try await eventually { try await subject() == "subject=CN = second\n" ? true : nil }
            try await eventually {
                service.log.text.contains("the changed certificate of http.tls is in use") ? true : nil
            }
            #expect(try await curl("--cacert \(authority) -o /dev/null -w '%{http_code}' \(address)/healthz") == "200")
        }
    }

    @Test func saysThatACertificateHasExpired() async throws {
        try await withServer(days: -1) { service, address, authority in
            #expect(service.log.text.contains("error http.tls: \(authority): the certificate expired at "))
            #expect(try await curl("--cacert \(authority) \(address)/healthz").contains("expired"))
            _ = try await Pair.make(in: service.directory, name: "renewed")
            try await eventually {
                try await curl("--cacert \(authority) -o /dev/null -w '%{http_code}' \(address)/healthz") == "200"
                    ? true : nil
            }
        }
    }

    @Test func webSocketsWorkOverTLS() async throws {
        try await withServer(settings: ["wcs.enabled": ["true"]]) { service, _, authority in
            // The frame is masked with zeros.
            let output = try await outputOfShell(
                #"""
                coproc TLS { exec openssl s_client -quiet -verify_return_error -CAfile \#(authority) \
                    -connect localhost:\#(service.port) 2>/dev/null; }
                exec 5<&${TLS[0]} 6>&${TLS[1]}
                printf 'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n' >&6
                while IFS= read -r -t 60 -u 5 line && [ "$line" != $'\r' ]; do echo "$line"; done
                printf '\x81\xa2\0\0\0\0{"message":"connection","data":[]}' >&6
                timeout 60 head -c 60 <&5 | tr -d '\0-\10\176-\377'
                kill $TLS_PID
                """#)
            #expect(output.hasPrefix("HTTP/1.1 101 "), "\(output)")
            #expect(output.contains(#""status":"ESTABLISHED""#), "\(output)")
        }
    }

    @Test func filesThatCannotBeUsedPreventTheStart() async throws {
        try await withDirectory { directory in
            let pair = try await Pair.make(in: directory)
            let text = "\(directory)/text"
            try "nothing".write(toFile: text, atomically: false, encoding: .utf8)
            let other = "\(directory)/other.pem"
            _ = try await outputOfShell("openssl genpkey -algorithm RSA -out \(other) 2>/dev/null")
            for (certificate, key, words) in [
                ("\(directory)/missing", pair.key, "http.tls: \(directory)/missing: No such file or directory"),
                (pair.certificate, "\(directory)/gone", "http.tls: \(directory)/gone: No such file or directory"),
                (text, pair.key, "http.tls: \(text): holds no certificate"),
                (pair.certificate, text, "http.tls: \(text): holds no key"),
                (pair.certificate, other, "http.tls: \(other): is not the key of \(pair.certificate)"),
                (pair.certificate, pair.certificate, "holds no key"),
            ] {
                let configuration = try testConfiguration(
                    directory, ["http.tls.certificateFile": [certificate], "http.tls.keyFile": [key]])
                let error = await #expect(throws: StartupError.self) {
                    _ = try await buildOrchestrator(
                        configuration, store: MemoryTaskStore(), starter: ScriptedRelays(), logger: LogRecorder().logger
                    )
                }
                #expect(error?.description.contains(words) == true, "\(error?.description ?? "no error")")
            }
        }
    }

    @Test func theCertificateIsJudgedByItsDates() async throws {
        try await withDirectory { directory in
            let pair = try await Pair.make(in: directory, days: 60)
            let certificate = try ServerCertificate(TLSFiles(certificate: pair.certificate, key: pair.key))
            let day = 86400.0
            #expect(certificate.problem() == nil)
            #expect(certificate.problem(at: .now.addingTimeInterval(-day))?.isFatal == true)
            #expect(certificate.problem(at: .now.addingTimeInterval(50 * day))?.isFatal == false)
            #expect(certificate.problem(at: .now.addingTimeInterval(61 * day))?.isFatal == true)
        }
    }
}
