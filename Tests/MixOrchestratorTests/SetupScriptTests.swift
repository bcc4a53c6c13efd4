import Foundation
import Testing

/// The arguments of `deploy/setup.sh`, which installs packages.
@Suite(.timeLimit(.minutes(1))) struct SetupScriptTests {
    /// Returns the output of the script, and its status in the last line.
    private static func run(_ arguments: String) async throws -> String {
        try await outputOfShell("'\(OpenAPIDocument.root.path)/deploy/setup.sh' \(arguments) 2>&1; echo $?")
    }

    @Test(arguments: ["--chek", "check", "--check --pages"]) func whatItDoesNotKnowInstallsNothing(
        _ arguments: String
    ) async throws {
        let output = try await Self.run(arguments)
        #expect(output.hasSuffix("\n1\n") && output.contains("setup: found \(arguments); expected "), "\(output)")
    }

    @Test func helpNamesEveryOption() async throws {
        let output = try await Self.run("--help")
        for option in ["--tests", "--nginx", "--cluster", "--fonts", "--pages", "--check"] {
            #expect(output.contains("deploy/setup.sh \(option)  "), "\(option)")
        }
        #expect(output.hasSuffix("\n0\n"))
    }

    @Test func nginxIsNotAmongWhatEveryTargetInstalls() async throws {
        let script = "\(OpenAPIDocument.root.path)/deploy/setup.sh"
        let needed = try await outputOfShell("sed -n '/^packages=(/,/^)/p' '\(script)'")
        #expect(needed.contains("libssl3") && !needed.contains("nginx"), "\(needed)")
        let nginx = try await outputOfShell("grep '^nginx_packages=' '\(script)'")
        #expect(nginx == "nginx_packages=(nginx libnginx-mod-rtmp)\n")
    }

    @Test(arguments: [
        ("setup", ""), ("build", ""), ("run", ""), ("check", ""), ("demo", ""), ("demo CDN=nginx", "--nginx"),
        ("soak", "--nginx"), ("chaos", "--nginx"), ("bench", "--nginx"), ("bench-media", "--nginx"),
        ("cluster", "--cluster"), ("test", "--tests"), ("test-long", "--tests"),
    ]) func targetsInstallWhatTheyUse(_ target: String, _ option: String) async throws {
        let output = try await outputOfShell(
            "env -u MAKEFLAGS -u CDN make --dry-run --directory '\(OpenAPIDocument.root.path)' \(target) 2>&1")
        let options = output.split(separator: "\n").filter { $0.hasPrefix("deploy/setup.sh") }.map {
            $0.dropFirst("deploy/setup.sh".count).drop { $0 == " " }
        }
        #expect(!options.isEmpty, "\(output)")
        #expect(options.filter { !$0.isEmpty } == (option.isEmpty ? [] : [option[...]]), "\(output)")
    }
}
