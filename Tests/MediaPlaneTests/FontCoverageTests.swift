import ChildProcesses
import Testing

@testable import ProgramMixer

/// The characters for which this machine has a font.
@Suite struct FontCoverageTests {
    private let fonts = FontCoverage.installed

    @Test func whatAFontHasIsNotMissed() {
        #expect(fonts.missing(in: "Zoë Müller · Łódź №5").isEmpty)
        // Characters that need no glyph: spaces, joiners, selectors, controls.
        #expect(fonts.missing(in: "a\u{2003}b\u{200D}\u{FE0F}\u{200E}\u{85}").isEmpty)
    }

    @Test func whatNoFontHasIsNamedOnceAndInOrder() {
        #expect(
            fonts.missing(in: "a\u{10FFFD}b\u{FFFFD}\u{10FFFD}").map(\.value) == [0x10FFFD, 0xFFFFD])
        let many = String(String.UnicodeScalarView((0x10FF00...0x10FF80).compactMap(Unicode.Scalar.init)))
        #expect(fonts.missing(in: many).count == 8)
        #expect(fonts.missing(in: many, most: 3).count == 3)
    }

    /// fontconfig's own command gives the same result for each script.
    @Test(arguments: FontCoverage.scripts.map(\.name)) func scriptsAreJudgedAsByFontconfig(name: String) throws {
        let script = try #require(FontCoverage.scripts.first { $0.name == name })
        var isWhole = true
        for scalar in script.sample.unicodeScalars {
            let launch = ProcessLaunch("/usr/bin/fc-list", [":charset=" + String(scalar.value, radix: 16)])
            guard let answer = try? launch.run(collecting: \.output) else { return }
            if answer.bytes.isEmpty { isWhole = false }
        }
        #expect(fonts.missingScripts.contains(name) == !isWhole)
    }
}
