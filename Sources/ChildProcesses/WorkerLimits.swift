/// Limits of worker processes. The service passes them in the environment, which each worker passes on to the workers
/// that it starts.
public struct WorkerLimits: Hashable, Sendable {
    /// Name of the environment variable with the memory limits.
    public static let memoryVariable = "MIXWORKER_MEMORY"
    /// Name of the environment variable with the directory of images that mixers may read.
    public static let imagesVariable = "MIXWORKER_IMAGES"

    /// Name of the environment variable with the directories of idle media, separated by colons. Colons and percent
    /// signs of their paths are escaped as in URLs.
    public static let mediaVariable = "MIXWORKER_MEDIA"

    /// Name of the environment variable with the directory in which outputs may create files.
    public static let outputsVariable = "MIXWORKER_OUTPUTS"

    /// Range of a memory limit in MiB; 0 means no limit.
    public static let memoryRange = 16...1_048_576

    /// Memory limits that differ from the defaults, in MiB; 0 means no limit.
    public var memory: [WorkerKind: Int]
    /// Directory of images that layouts show; `nil` means none.
    public var images: String?
    /// Directories of idle media, whose files mixers play.
    public var media: [String]
    /// Directory in which outputs may create files; `nil` means none.
    public var outputs: String?

    public init(
        memory: [WorkerKind: Int] = [:], images: String? = nil, media: [String] = [], outputs: String? = nil
    ) {
        self.memory = memory
        self.images = images
        self.media = media
        self.outputs = outputs
    }

    /// Reads the variables. An invalid value counts as absent.
    public init(environment: [String: String]) {
        memory = [:]
        for entry in (environment[Self.memoryVariable] ?? "").split(separator: ",") {
            let parts = entry.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let kind = WorkerKind(rawValue: String(parts[0])), let limit = Int(parts[1]),
                limit == 0 || Self.memoryRange.contains(limit)
            else { continue }
            memory[kind] = limit
        }
        images = environment[Self.imagesVariable]
        outputs = environment[Self.outputsVariable]
        media = (environment[Self.mediaVariable] ?? "").split(separator: ":").map { path in
            String(path).replacing("%3A", with: ":").replacing("%25", with: "%")
        }
    }

    /// The variables that `init(environment:)` reads.
    public var environment: [String: String] {
        var variables: [String: String] = [:]
        if !memory.isEmpty {
            variables[Self.memoryVariable] = memory.map { "\($0.key.rawValue)=\($0.value)" }.sorted()
                .joined(separator: ",")
        }
        variables[Self.imagesVariable] = images
        variables[Self.outputsVariable] = outputs
        if !media.isEmpty {
            let paths = media.map { $0.replacing("%", with: "%25").replacing(":", with: "%3A") }
            variables[Self.mediaVariable] = paths.joined(separator: ":")
        }
        return variables
    }

    /// Limit of the memory of a process of this kind, in bytes; `nil` means no limit.
    public func bytes(of kind: WorkerKind) -> UInt? {
        let megabytes = memory[kind] ?? kind.defaultMemory
        return megabytes > 0 ? UInt(megabytes) << 20 : nil
    }
}
