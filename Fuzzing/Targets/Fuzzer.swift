import Foundation

/// The functions by which libFuzzer, whose `main` this program has, calls a target
/// (https://llvm.org/docs/LibFuzzer.html, "Fuzz Target" and "Startup initialization").
///
/// `MIX_FUZZ_TARGET` names the target, because libFuzzer owns the arguments. `MIX_FUZZ_SEEDS` names a directory: the
/// target's seeds are written there, and nothing is run.
enum Fuzzer {
    nonisolated(unsafe) static let target: (any FuzzTarget.Type)? = {
        let name = ProcessInfo.processInfo.environment["MIX_FUZZ_TARGET"]
        return FuzzTargets.all.first { $0.name == name }
    }()

    static func begin() {
        guard let target else {
            let names = FuzzTargets.all.map { $0.name }.joined(separator: ", ")
            print("MIX_FUZZ_TARGET has to name a target: \(names)")
            exit(2)
        }
        guard let directory = ProcessInfo.processInfo.environment["MIX_FUZZ_SEEDS"] else { return }
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            for (number, seed) in target.seeds.enumerated() {
                try Data(seed).write(to: URL(fileURLWithPath: "\(directory)/seed-\(number)"))
            }
            exit(0)
        } catch {
            print("\(directory): \(error)")
            exit(1)
        }
    }
}

@_cdecl("LLVMFuzzerInitialize")
public func fuzzerInitialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
    Fuzzer.begin()
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzerTestOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    Fuzzer.target?.run(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}
