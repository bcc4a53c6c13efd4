import ChildProcesses
import Foundation
import GStreamerKit
import ProcessContainment
import Synchronization

/// The first steps of a worker, while it has one thread: it applies the limits of its kind, and gives up rights that it
/// does not need.
enum WorkerStart {
    private static let outcome = Mutex<Containment.Outcome?>(nil)

    /// The containment of this process; `nil` if it is not contained.
    static var containment: Containment.Outcome? { outcome.withLock { $0 } }

    /// The limits that the service has passed on to this process.
    static var limits: WorkerLimits { WorkerLimits(environment: ProcessInfo.processInfo.environment) }

    /// - Parameter arguments: The process's arguments, including its name.
    /// - Returns: The arguments to use: the given ones or, in a process that this one has made, in which this function
    ///   returns as well, those of its request.
    static func begin(_ arguments: [String]) -> [String] {
        let arguments = ForkServerCommand.serve(arguments) ?? arguments
        limit(arguments)
        return arguments
    }

    private static func limit(_ arguments: [String]) {
        guard arguments.count > 1 else { return }
        let limits = limits
        let images = [limits.images].compactMap { $0 }
        if arguments[1] == TrialCommand.name { return contain(readable: images, restrictsFiles: true) }
        guard let kind = WorkerKind(rawValue: arguments[1]) else { return }
        OwnProcess.become(kind, limits: limits)
        switch kind {
        case .relay, .ingest: break
        // Starts the browser, and so cannot give up files and programs.
        case .page: keepNiceness()
        case .recorder, .packager: keepNiceness()
        // Writes files, and decodes nothing.
        case .push where arguments.contains("--file"): keepNiceness()
        case .thumbnail:
            keepNiceness()
            contain(readable: [], restrictsFiles: true)
        case .mixer, .rendition:
            keepNiceness()
            let media = kind == .mixer ? limits.media : []
            contain(readable: images + media, restrictsFiles: usesSoftwareEncoder(arguments))
        case .pull, .push, .whip, .whep:
            keepNiceness()
            // Settings of a desktop, which would otherwise be read and written.
            setenv("GSETTINGS_BACKEND", "memory", 1)
            setenv("GIO_USE_PROXY_RESOLVER", "dummy", 1)
            contain(
                readable: kind == .pull ? limits.media : [], restrictsFiles: true, keepsNetwork: true,
                sockets: kind == .whip || kind == .whep ? socketDirectory(arguments) : [])
        }
    }

    /// Keeps libdispatch from setting its threads' niceness, and from logging that it cannot.
    private static func keepNiceness() {
        setenv("LIBDISPATCH_LOG", "NO", 1)
        Containment.keepNiceness()
    }

    private static func contain(
        readable: [String], restrictsFiles: Bool, keepsNetwork: Bool = false, sockets: [String] = []
    ) {
        // Reads the registry of plug-ins, and may have to write it with a helper process. A failure is reported again
        // later.
        try? GStreamerRuntime.start()
        let found = Containment.enter(
            readable: readable, restrictsFiles: restrictsFiles, keepsNetwork: keepsNetwork, sockets: sockets)
        outcome.withLock { $0 = found }
    }

    /// Returns whether no device driver is needed. A rendition has no choice.
    private static func usesSoftwareEncoder(_ arguments: [String]) -> Bool {
        guard arguments.contains(where: { $0.hasPrefix("--encoder") }) else { return true }
        return value(of: "--encoder", in: arguments) == "software"
    }

    /// Returns the directory of the socket that the process listens on.
    private static func socketDirectory(_ arguments: [String]) -> [String] {
        value(of: "--socket", in: arguments).map { [URL(filePath: $0).deletingLastPathComponent().path] } ?? []
    }

    private static func value(of option: String, in arguments: [String]) -> String? {
        guard let place = arguments.firstIndex(where: { $0 == option || $0.hasPrefix(option + "=") }) else {
            return nil
        }
        let parts = arguments[place].split(separator: "=", maxSplits: 1)
        return parts.count == 2 ? String(parts[1]) : arguments.dropFirst(place + 1).first
    }
}
