import Foundation
import Testing

@testable import ViewerProbe

/// The drawing of a program over time.
@Suite struct ProbePlotTests {
    @Test func aPerfectProgramIsAStraightLine() throws {
        let plot = try ProbeFixture().plot()
        #expect(plot.bands.map(\.label) == ["bypass 1", "mix 1+2", "bypass 1"])
        #expect(plot.bands.map(\.seconds) == [0...4, 4...8, 8...11.95])
        #expect(plot.changes == [4, 8].map { ProbePlot.Change(seconds: $0, isWithinLimits: true) })
        #expect(plot.spacing.count == 239 && plot.spacing.allSatisfy { $0.value == 50 })
        // The mix arrives 20 ms later than the bypass.
        #expect(plot.arrivals.filter { abs($0.value - 50) > 0.01 }.map { $0.value.rounded() } == [70, 30])
        let offsets = try #require(plot.offsets[1])
        #expect(offsets.count >= 9 && offsets.allSatisfy { abs($0.value) < 1 }, "\(offsets)")
        #expect(plot.offsets[2] == nil, "the guest is silent")
    }

    @Test func aLostPictureStandsOut() throws {
        var fixture = ProbeFixture()
        fixture.removePictures(4000...4100)
        let plot = try fixture.plot()
        #expect(plot.spacing.filter { $0.value != 50 } == [ProbePlot.Point(seconds: 4.15, value: 200)])
        #expect(plot.changes.map(\.isWithinLimits) == [false, true])
        #expect(plot.svg.contains("#e03131"))
        #expect(try !ProbeFixture().plot().svg.contains("#e03131"))
    }

    /// The drawing of a whole day contains no more points than it has columns for.
    @Test func aLongProgramIsDrawnInBoundedSize() throws {
        var plot = try ProbeFixture().plot()
        plot.length = 86_400
        plot.spacing = (0..<400_000).map { ProbePlot.Point(seconds: Double($0) * 0.216, value: Double($0 % 97)) }
        #expect(plot.svg.utf8.count < 120_000)
    }

    @Test(arguments: [(0.0, 12.0), (0, 0.1), (-20, 20), (0, 86_400), (-3, 1500)]) func ticksAreRoundAndFew(
        from: Double, to: Double
    ) {
        let ticks = ProbePlot.ticks(from...to, about: 6)
        #expect((1...14).contains(ticks.count) && ticks.allSatisfy { $0 >= from - 1e-9 && $0 <= to + 1e-9 })
    }

    @Test func thePlotIsAnImage() throws {
        let path = FileManager.default.temporaryDirectory.path + "/plot-\(UUID().uuidString).png"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try ProbeFixture().plot().write(to: path)
        let bytes = try #require(FileManager.default.contents(atPath: path))
        #expect(bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) && bytes.count > 5000)
        #expect(!FileManager.default.fileExists(atPath: path + ".svg"))
        #expect(throws: ProbeError.self) { try ProbeFixture().plot().write(to: "/nowhere/plot.svg") }
    }
}
