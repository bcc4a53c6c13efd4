import Foundation
import HTTPTypes
import MixModel
import TestSupport
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

extension UploadFlowTests {
    /// A file is removed only once the storage that is configured now has it.
    @Test func aFileIsStoredInTheNextBucketBeforeItIsRemoved() async throws {
        try await withDirectory { directory in
            let storage = try S3Storage(directory)
            try await storage.start()
            let content = try Self.record(directory)
            try await withOrchestrator(directory: directory, settings: Self.settings(storage)) { bench in
                try await Self.wait(bench, "recordings.0.storage.0.state", "stored")
            }
            let next = Self.settings(storage, ["upload.bucket": ["spare"], "upload.local": ["remove"]])
            try await withOrchestrator(directory: directory, settings: next) { bench in
                let list = try await eventually("the file is not removed") {
                    let answer = try await bench.call(.get, Self.list)
                    return try answer.isTrue("recordings.0.local") ? nil : answer
                }
                #expect(try list.value("recordings.0.storage.0.bucket") == "spare", "\(list.text)")
                let link = try #require(try list.value("recordings.0.storage.0.url"))
                #expect(try await storage.fetch(link).body == content)
            }
        }
    }

    /// 100ms' assets whose files are only in the storage are downloaded from there.
    @Test func presignedURLsLeadToWhereTheFilesAre() async throws {
        try await withDirectory { directory in
            let storage = try S3Storage(directory)
            try await storage.start()
            let room = RoomID(app: "shop", name: "demo")
            let content = Data((0..<5000).map { UInt8($0 & 0xFF) })
            try KeptFiles.makeRecording(directory, of: room.rawValue, Self.name, content: content)
            let recording = "\(directory)/recordings/\(FileName.safe(room.rawValue))/\(Self.name).mp4"
            try KeptFiles.makeSession(directory, app: "shop", isEnded: true)
            let hls = "\(directory)/hls/shop/demo/1700000000000"
            var session = HMSSession(
                id: HMSSession.newID(), kind: .liveStream, room: room, session: "x", accessKey: WireCaller.key,
                base: "http://localhost", at: Date().timeIntervalSince1970)
            (session.status, session.isComplete, session.holdsRoom) = (.completed, true, false)
            let kinds = [("file", HMSAsset.Kind.composite, "\(Self.name).mp4"), ("hls", .onDemand, "1700000000000")]
            session.assets = kinds.map {
                HMSAsset(id: $0.0, kind: $0.1, file: $0.2, size: 5000, duration: 1, createdAt: session.createdAt)
            }
            try HMSFiles(data: directory).write(session)

            // The files are only in the data directory.
            let early = LockedBox("")
            try await withOrchestrator(directory: directory, settings: HMSCaller.settings) { bench in
                for asset in ["file", "hls"] {
                    let link = try await HMSCaller(bench: bench).get("recording-assets/\(asset)/presigned-url")
                    #expect(try link.value("url")?.hasPrefix("http://localhost/") == true, "\(link.text)")
                    #expect(try link.value("expiry") == "3600")
                    if asset == "file" {
                        let url = try #require(try link.value("url"))
                        early.value = String(url.dropFirst("http://localhost".count))
                    }
                }
            }
            try Self.age(recording)
            for file in ["segments.jsonl", "vod.m3u8"] { try Self.age("\(hls)/\(file)") }
            let settings = Self.settings(storage, ["upload.local": ["remove"], "upload.linkSeconds": ["600"]])
            try await withOrchestrator(
                directory: directory, settings: HMSCaller.settings.merging(settings) { $1 }
            ) { bench in
                let caller = HMSCaller(bench: bench)
                for asset in ["file", "hls"] {
                    let link = try await eventually("\(asset) is not in the storage only") {
                        let link = try await caller.get("recording-assets/\(asset)/presigned-url")
                        return try link.value("url")?.hasPrefix(storage.endpoint) == true ? link : nil
                    }
                    #expect((590...600).contains(Int(try link.value("expiry") ?? "") ?? 0), "\(link.text)")
                    let url = try #require(try link.value("url"))
                    let fetched = try await storage.fetch(url)
                    #expect(fetched.status == 200)
                    if asset == "file" { #expect(fetched.body == Array(content)) }
                    #expect(fetched.body.starts(with: asset == "hls" ? [0x50, 0x4B] : [0, 1]), "a zip")
                }
                let moved = try await bench.call(.get, early.value)
                #expect(moved.status == 302, "a URL from before is still valid: \(moved.text)")
                let place = try #require(moved.headers[.location])
                #expect(try await storage.fetch(place).body == Array(content))
            }
        }
    }
}
