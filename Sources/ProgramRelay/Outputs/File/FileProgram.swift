import Foundation
import MediaFormats
import MixModel

/// The body of `mixworker push --file`: writes a program, which arrives as FLV, to a file.
///
/// Each attempt creates its own file, so that none is ever overwritten: `show.ts`, `show-2.ts` and so on.
public struct FileProgram: Sendable {
    /// Largest number of files with one base name.
    private static let most = 10_000
    /// Number of bytes written between two checks of the free space.
    private static let lookInterval = 16 << 20

    private struct Failure: Error {
        var words: String
        /// Whether an operator has to change something.
        var isRefusal = false
    }

    private let name: OutputFileName
    private let directory: String?
    private let report: @Sendable ([UInt8]) -> Void

    /// - Parameters:
    ///   - settings: The first line that the relay sent.
    ///   - directory: `outputs.directory`.
    ///   - report: Called with lines for the relay.
    /// - Throws: If the settings cannot be read.
    public init(settings: [UInt8], directory: String?, report: @escaping @Sendable ([UInt8]) -> Void) throws {
        name = try OutputFileName(JSONDecoder().decode(PushSettings.self, from: Data(settings)).url)
        self.directory = directory
        self.report = report
    }

    /// Writes the program until it ends or a file cannot be written. Reports to the relay how much is written.
    ///
    /// - Parameter read: Returns the next bytes of the program, `nil` at its end. It may wait.
    public func run(reading read: () -> [UInt8]?) {
        do {
            guard let directory else {
                throw Failure(words: "the file cannot be written: set outputs.directory", isRefusal: true)
            }
            try checkSpace(in: directory)
            let (path, descriptor) = try create(in: directory)
            defer { close(descriptor) }
            do { try write(read, to: descriptor, in: directory) } catch {
                // Attempts that write nothing leave no file.
                if lseek(descriptor, 0, SEEK_CUR) == 0 { unlink(path) }
                throw error
            }
        } catch {
            let failure = error as? Failure ?? Failure(words: "\(error)")
            tell(.failed(isRefusal: failure.isRefusal, words: failure.words))
        }
    }

    private func create(in directory: String) throws -> (path: String, descriptor: Int32) {
        for number in 1...Self.most {
            let path = "\(directory)/\(name.name(number))"
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
            if descriptor >= 0 { return (path, descriptor) }
            guard errno == EEXIST else { throw Self.fault("the file cannot be made in outputs.directory") }
        }
        throw Failure(words: "there are \(Self.most) files of this name: remove some", isRefusal: true)
    }

    private func write(_ read: () -> [UInt8]?, to descriptor: Int32, in directory: String) throws {
        var reader = FLVReader()
        var packets = ProgramPackets()
        // The relay does not count the FLV header.
        var taken = -Int64(FLVTag.fileHeader.count)
        var untilLook = Self.lookInterval
        while let bytes = read() {
            if untilLook <= 0 {
                try checkSpace(in: directory)
                untilLook = Self.lookInterval
            }
            let written = name.format == .flv ? bytes : packets.bytes(of: try reader.push(bytes))
            try Self.write(written, to: descriptor)
            untilLook -= written.count
            taken += Int64(bytes.count)
            if taken > 0 { tell(.taken(bytes: taken)) }
        }
    }

    /// Throws if too little space is free, because the service's store may be on the same file system.
    private func checkSpace(in directory: String) throws {
        let kept = RecordingPlace.defaultKeepFreeBytes
        guard let free = RecordingFile.freeBytes(at: directory), free < kept else { return }
        throw Failure(words: "less than \(kept >> 20) MiB is free in outputs.directory", isRefusal: true)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw fault("the file cannot be written") }
            rest = rest.dropFirst(count)
        }
    }

    private static func fault(_ what: String) -> Failure {
        Failure(words: "\(what): \(String(cString: strerror(errno)))", isRefusal: true)
    }

    private func tell(_ message: PushReport) {
        guard let data = try? JSONEncoder().encode(message) else { return }
        report([UInt8](data) + [0x0A])
    }
}
