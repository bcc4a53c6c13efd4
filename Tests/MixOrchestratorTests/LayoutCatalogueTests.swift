import LayoutEngine
import TaskStore
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// The effect of reading a layout's file, tested without files.
@Suite struct LayoutCatalogueTests {
    private static func good(_ algorithm: String) throws -> LayoutReading {
        let content = Array(#"{"arrangements":[{"algorithm":"\#(algorithm)"}]}"#.utf8)
        return .good(try LayoutTemplate.decode(content, name: "x"), content: content)
    }
    private static let bad = LayoutReading.bad(LayoutProblem(file: "/l/x.json", reason: "is not a regular file"))

    private func take(
        _ catalogue: inout LayoutCatalogue, _ reading: LayoutReading, origin: LayoutVersion.Origin = .file
    ) -> LayoutCatalogue.Outcome {
        catalogue.take(reading, of: "x", at: 1, origin: origin)
    }

    @Test func eachContentIsAVersion() throws {
        var catalogue = LayoutCatalogue()
        guard case .changed(let first) = take(&catalogue, try Self.good("grid")) else {
            Issue.record("no version")
            return
        }
        #expect(first.version.number == 1)
        #expect(take(&catalogue, try Self.good("grid")) == .nothing)
        #expect(take(&catalogue, try Self.good("solo"), origin: .api).good?.version.number == 2)
        #expect(catalogue["x"]?.good?.version.origin == .api)
        #expect(take(&catalogue, try Self.good("grid"), origin: .rollback).good?.version.number == 3)
        #expect(catalogue.names == ["auto", "x"])
    }

    @Test func aBrokenFileIsToldOnceAndLeavesTheLastGoodVersion() throws {
        var catalogue = LayoutCatalogue()
        _ = take(&catalogue, try Self.good("grid"))
        let good = try #require(catalogue["x"]?.good)
        guard case .rejected(_, let kept) = take(&catalogue, Self.bad) else {
            Issue.record("not rejected")
            return
        }
        #expect(kept == good)
        #expect(take(&catalogue, Self.bad) == .nothing)
        #expect(catalogue.template("x") == good.template)
        #expect(catalogue.contains("x"))
        #expect(catalogue.brokenCount == 1)
        // The editor restores the content that has been in use all the time.
        #expect(take(&catalogue, try Self.good("grid")) == .restored(good))
        #expect(catalogue.brokenCount == 0)
    }

    @Test func aFileThatNeverWasGoodIsNoLayout() throws {
        var catalogue = LayoutCatalogue()
        _ = take(&catalogue, Self.bad)
        #expect(!catalogue.contains("x"))
        #expect(catalogue.names == ["auto"])
        #expect(catalogue.template("x") == LayoutLibrary.automatic)
        #expect(take(&catalogue, try Self.good("grid")).good?.version.number == 1)
        #expect(catalogue.contains("x"))
    }

    @Test func aLayoutWhoseFileIsGoneIsKeptForThoseWhoUseIt() throws {
        var catalogue = LayoutCatalogue()
        _ = take(&catalogue, try Self.good("grid"))
        let good = try #require(catalogue["x"]?.good)
        #expect(take(&catalogue, .gone) == .deleted(kept: good))
        #expect(take(&catalogue, .gone) == .nothing)
        #expect(!catalogue.contains("x"), "nobody can take it any more")
        catalogue.forgetDeleted(except: ["x"])
        #expect(catalogue.template("x") == good.template)
        #expect(take(&catalogue, try Self.good("grid")) == .restored(good))
        _ = take(&catalogue, .gone)
        catalogue.forgetDeleted(except: [])
        #expect(catalogue["x"] == nil)
        #expect(take(&catalogue, try Self.good("grid")).good?.version.number == 2, "numbers are used once")
    }

    @Test func whatIsStoredIsInUseUntilFilesSayOtherwise() throws {
        var catalogue = LayoutCatalogue()
        _ = take(&catalogue, try Self.good("grid"))
        var good = try #require(catalogue["x"]?.good)
        good.version.number = 41
        var restarted = LayoutCatalogue()
        restarted.remember(good)
        #expect(restarted.template("x") == good.template)
        #expect(take(&restarted, try Self.good("grid")) == .restored(good))
        #expect(take(&restarted, try Self.good("solo")).good?.version.number == 42)
    }

    /// After any sequence of reads, the newest good content is in use, and its version number only grows.
    @Test func anySequenceOfLooksKeepsTheNewestGoodContent() throws {
        let readings = [try Self.good("grid"), try Self.good("solo"), Self.bad, .gone]
        for sequence in 0..<4096 {
            var catalogue = LayoutCatalogue()
            var newest: LayoutReading?
            var number = 0
            for step in 0..<6 {
                let reading = readings[(sequence >> (2 * step)) & 3]
                if case .good = reading { newest = reading }
                _ = take(&catalogue, reading)
                guard case .good(let template, let content) = newest else {
                    #expect(catalogue["x"]?.good == nil)
                    continue
                }
                let good = try #require(catalogue["x"]?.good)
                #expect(good.template == template && good.content == content)
                #expect(good.version.number >= number)
                number = good.version.number
                #expect(catalogue["x"]?.isDeleted == (reading == .gone))
                #expect((catalogue["x"]?.problem == nil) == (reading != Self.bad))
            }
        }
    }

    @Test func problemsAreToldAsCompilersDo() throws {
        let error = #expect(throws: LayoutError.self) {
            try LayoutTemplate.decode("{\n  \"arangements\": [],\n  \"fit\": \"covr\"}".utf8, name: "x")
        }
        let problem = LayoutProblem(file: "/l/x.json", try #require(error))
        let lines = problem.description.split(separator: "\n")
        #expect(lines.count == error?.issues.count)
        #expect(lines.first?.hasPrefix("/l/x.json:2:3: $.arangements: ") == true, "\(problem)")
        #expect(problem.summary.hasPrefix("2 errors: 2:3: "), "\(problem.summary)")
        #expect(!problem.summary.contains("\n"))
    }

    @Test func theBuiltInLayoutIsWhatItsFileSays() throws {
        let decoded = try LayoutTemplate.decode(
            LayoutLibrary.automaticFile.utf8, name: LayoutLibrary.automaticName)
        #expect(decoded == LayoutLibrary.automatic)
    }

    @Test func aVersionOfAnotherNodeIsTakenAsItIs() throws {
        var catalogue = LayoutCatalogue()
        _ = take(&catalogue, try Self.good("grid"))
        let own = try #require(catalogue["x"]?.good)
        _ = take(&catalogue, Self.bad)
        var copy = own
        copy.version.number = 4
        #expect(catalogue.adopt(copy) == .nothing, "the content is in use")
        #expect(catalogue["x"] == LayoutCatalogue.Entry(good: copy))
        guard case .good(let template, let content) = try Self.good("solo") else { return }
        let version = LayoutVersion(layout: "x", number: 7, at: 2, origin: .api, length: content.count)
        let foreign = LayoutCatalogue.Good(template: template, content: content, version: version)
        #expect(catalogue.adopt(foreign) == .changed(foreign))
        #expect(catalogue.nextNumber(of: "x") == 8)
    }

    /// A deletion that other nodes know by its number ends with a further version, even of the same content.
    @Test func aDeletionThatIsAVersionIsUndoneByAnother() throws {
        var catalogue = LayoutCatalogue()
        _ = take(&catalogue, try Self.good("grid"))
        catalogue.remember(NewLayoutVersion(deletionOf: "x", number: 2, at: 1).version)
        _ = take(&catalogue, .gone)
        #expect(take(&catalogue, try Self.good("grid")).good?.version.number == 3)
        #expect(catalogue.contains("x"))
    }
}
