import Testing

@testable import PageCapture

struct StartReportTests {
    private static let second: Int64 = 1_000_000_000

    @Test func itSaysWhatTookHowLong() {
        var report = StartReport()
        report.begin(at: 5 * Self.second)
        report.note(.processes, at: 5_204_000_000)
        report.note(.browser, at: 6 * Self.second)
        report.note(.loaded, at: 7 * Self.second)
        report.note(.idle, at: 7_999_999_999)
        report.note(.idle, at: 9 * Self.second)
        #expect(
            report.end(at: 8 * Self.second)
                == "on air after 3.00 s: processes after 0.20 s, browser after 1.00 s, loaded after 2.00 s, network idle after 2.99 s"
        )
        #expect(report.end(at: 8 * Self.second) == nil, "once")
    }

    @Test func withoutAStartThereIsNone() {
        var report = StartReport()
        report.note(.browser, at: 1)
        #expect(report.end(at: 2) == nil)
        report.begin(at: 10)
        report.note(.loaded, at: 20)
        report.begin(at: Self.second)
        #expect(report.end(at: 0) == "on air after 0.00 s", "a page that is opened anew, and a clock that went back")
    }

    @Test func theBrowsersEmptyDocumentIsNotThePage() {
        var report = StartReport()
        report.begin(at: 0)
        report.note(.painted, at: 1 * Self.second)
        report.note(.idle, at: 2 * Self.second)
        report.note(.loaded, at: 3 * Self.second)
        report.note(.painted, at: 4 * Self.second)
        report.note(.painted, at: 5 * Self.second)
        report.note(.idle, at: 6 * Self.second)
        #expect(
            report.end(at: 6 * Self.second)
                == "on air after 6.00 s: loaded after 3.00 s, painted after 4.00 s, network idle after 6.00 s")
    }

    @Test func eventsOfTheBrowserAreMarks() {
        #expect(StartReport.Mark(.ready) == .browser && StartReport.Mark(.loaded) == .loaded)
        #expect(StartReport.Mark(.painted) == .painted && StartReport.Mark(.networkIsIdle) == .idle)
        #expect(StartReport.Mark(.crashed) == nil)
    }
}
