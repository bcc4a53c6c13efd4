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
        for option in ["--tests", "--cluster", "--fonts", "--pages", "--check"] {
            #expect(output.contains("deploy/setup.sh \(option)  "), "\(option)")
        }
        #expect(output.hasSuffix("\n0\n"))
    }
}
