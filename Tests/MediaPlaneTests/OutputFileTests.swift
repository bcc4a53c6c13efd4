import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import Synchronization
import Testing

@testable import MediaFormats
@testable import ProgramRelay

/// Programs written to files.
@Suite(.serialized, .timeLimit(.minutes(3))) struct OutputFileTests {
    private static func directory() throws -> URL {
        let directory = FileManager.default.temporaryDirectory.appending(path: "out-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory
    }

    /// Writes bytes of FLV like the worker, and returns its reports.
    private static func write(_ bytes: [UInt8], to url: String, in directory: URL?) throws -> [PushReport] {
        let reports = Mutex<[PushReport]>([])
        let settings = Array(try JSONEncoder().encode(PushSettings(url: url)))
        let program = try FileProgram(settings: settings, directory: directory?.path) { line in
            if let report = try? JSONDecoder().decode(PushReport.self, from: Data(line)) {
                reports.withLock { $0.append(report) }
            }
        }
        var rest = bytes[...]
        program.run {
            defer { rest = rest.dropFirst(10_000) }
            return rest.isEmpty ? nil : Array(rest.prefix(10_000))
        }
        return reports.withLock { $0 }
    }

    private static func packets(_ path: String, of kind: String) async throws -> Int {
        let list = path + ".list"
        let command = "ffprobe -v error -select_streams $0 -show_entries packet=size -of csv=p=0 \"$1\" > \"$2\""
        try #require(try await outputTool("/bin/sh", ["-c", command, kind, path, list]) == 0)
        defer { try? FileManager.default.removeItem(atPath: list) }
        return try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").count
    }

    @Test func aFileHasTheWholeProgramAndIsNeverOverwritten() async throws {
        let directory = try Self.directory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let tags = try await outputProgram(seconds: 2)
        let bytes = FLVTag.fileHeader + tags.flatMap(\.encoded)
        for _ in 0..<2 {
            for format in ["ts", "flv"] {
                let reports = try Self.write(bytes, to: "file://localhost/a%20show.\(format)", in: directory)
                #expect(reports.last == .taken(bytes: Int64(bytes.count - FLVTag.fileHeader.count)))
            }
        }
        #expect(
            Set(try FileManager.default.contentsOfDirectory(atPath: directory.path))
                == ["a show.ts", "a show-2.ts", "a show.flv", "a show-2.flv"])
        #expect(try Data(contentsOf: directory.appending(path: "a show-2.flv")) == Data(bytes))
        for name in ["a show.ts", "a show.flv"] {
            let path = directory.appending(path: name).path
            #expect(try await Self.packets(path, of: "v") == 50)
            #expect(try await Self.packets(path, of: "a") > 80)
        }
    }

    @Test func whatCannotBeWrittenIsNamed() throws {
        let directory = try Self.directory()
        defer { try? FileManager.default.removeItem(at: directory) }
        func words(_ url: String, in directory: URL?) throws -> String? {
            guard case .failed(true, let words, _)? = try Self.write([1, 2, 3], to: url, in: directory).last else {
                return nil
            }
            return words
        }
        #expect(try words("file://localhost/x.ts", in: nil)?.contains("set outputs.directory") == true)
        let missing = directory.appending(path: "missing")
        #expect(try words("file://localhost/x.ts", in: missing)?.contains("No such file") == true)
        // A link does not lead out of the directory.
        try FileManager.default.createSymbolicLink(
            atPath: directory.appending(path: "x.ts").path, withDestinationPath: directory.path + "/../victim.ts")
        _ = try Self.write(FLVTag.fileHeader, to: "file://localhost/x.ts", in: directory)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/../victim.ts"))
        for url in [
            "file://localhost/../x.ts", "file://localhost/a/x.ts", "file://localhost/x.mp4", "file://localhost/.ts",
            "file://h/x.ts", "file://localhost:1/x.ts", "file://localhost/x.ts?a=b", "file://localhost/a%2Fx.ts",
            "file://localhost/%00.ts", "file://localhost/", "file://localhost/\(String(repeating: "x", count: 200)).ts",
        ] {
            #expect(throws: PullEnd.self, "\(url)") { _ = try OutputFileName(url) }
        }
    }

    @Test func aRelayWritesAFileThatGrows() async throws {
        let directory = try Self.directory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let rig = try await RelayRig(environment: ["MIXWORKER_OUTPUTS": directory.path])
        try rig.apply(
            .bypass("a/camera"), Scene.columns(["a/camera"]),
            [PlannedSource(id: "a/camera", url: "test://localhost/ball?size=360x640")],
            outputs: [PushDestination(id: "file", url: "file://localhost/show.ts")])
        let file = directory.appending(path: "show.ts")
        func size() -> Int { (try? Data(contentsOf: file).count) ?? 0 }
        #expect(try await outputEventually { size() > 100_000 }, "\(rig.notes)")
        let before = size()
        #expect(try await outputEventually { size() > before + 50_000 })
        try await rig.stop()
        let bytes = try Data(contentsOf: file)
        #expect(bytes.count % 188 == 0 && stride(from: 0, to: bytes.count, by: 188).allSatisfy { bytes[$0] == 0x47 })
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["show.ts"])
    }
}
