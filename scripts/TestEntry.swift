import Testing

/// The entry of a test program in which the compiler's index was not asked for tests of XCTest; `.ci/run` puts it where SwiftPM
/// looks for one.
@main struct TestEntry {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
