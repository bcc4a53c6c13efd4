import EncodedMedia
import Foundation
import Synchronization
import TestSupport
import Testing
import TextFormats

@testable import ProgramRelay

/// Keeps the media that a worker's pull delivers.
final class WorkerPullRecorder: Sendable {
    private final class Shared: Sendable {
        let frames = Mutex<[EncodedFrame]>([])
        let configured = Mutex<Set<Track>>([])
        let codecs = Mutex<Set<VideoCodec>>([])
        let ends = Mutex<[PullEnd]>([])
        let latest = Mutex<ContinuousClock.Instant?>(nil)
    }

    private let shared = Shared()
    private let pull: any SourcePull
    private let script: URL?

    /// - Parameters:
    ///   - media: The directory with the files that may be played.
    ///   - isRetry: Whether a previous attempt has failed.
    ///   - videoCodecs: Video codecs that the program carries.
    init(
        _ url: String, media: URL? = nil, isRetry: Bool = false, videoCodecs: Set<VideoCodec> = [.h264]
    ) throws {
        var worker = URL(filePath: try WorkerStartTests.executable())
        script = media.map { _ in
            FileManager.default.temporaryDirectory.appending(path: "worker-\(UInt32.random(in: 0 ... .max))")
        }
        if let script, let media {
            // The environment of this process is shared by all tests.
            try Data("#!/bin/sh\nMIXWORKER_MEDIA='\(media.path)' exec '\(worker.path)' \"$@\"\n".utf8).write(to: script)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script.path)
            worker = script
        }
        let shared = shared
        pull = PullProtocols.open(
            url, reach: .loopback, worker: worker, isRetry: isRetry, videoCodecs: videoCodecs
        ) { event in
            switch event {
            case .connected: break
            case .media(let items, _):
                shared.latest.withLock { $0 = ContinuousClock.now }
                for item in items {
                    switch item {
                    case .frame(let frame): shared.frames.withLock { $0.append(frame) }
                    case .configuration(let configuration):
                        shared.configured.withLock { _ = $0.insert(configuration.track) }
                        if let codec = configuration.videoCodec { shared.codecs.withLock { _ = $0.insert(codec) } }
                    default: break
                    }
                }
            case .ended(let end): shared.ends.withLock { $0.append(end) }
            }
        }
    }

    var frames: [EncodedFrame] { shared.frames.withLock { $0 } }
    var configured: Set<Track> { shared.configured.withLock { $0 } }
    /// Codecs of the pictures so far.
    var codecs: Set<VideoCodec> { shared.codecs.withLock { $0 } }
    var ends: [PullEnd] { shared.ends.withLock { $0 } }
    /// Time since the last media.
    var silence: Duration { shared.latest.withLock { $0 }.map { ContinuousClock.now - $0 } ?? .zero }
    var transcoded: Set<Track> { pull.transcoded }
    var processID: Int32? { (pull as? WorkerPull)?.processID }

    /// The arguments and the environment of the worker; other users of the machine may see the arguments.
    var arguments: String? {
        processID.flatMap { try? String(contentsOfFile: "/proc/\($0)/cmdline", encoding: .utf8) }
    }

    func close() async {
        await pull.close()
        if let script { try? FileManager.default.removeItem(at: script) }
    }
}

/// A process of a test that sends or serves a stream. Ended by `stop()`, and with its last reference.
final class PullSender: Sendable {
    private let process: Process

    init(_ executable: String, _ arguments: [String]) throws {
        process = Process()
        process.executableURL = URL(filePath: executable)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    deinit { stop() }

    var isRunning: Bool { process.isRunning }

    /// Whether the process has a socket besides its standard streams.
    var hasSocket: Bool {
        let place = "/proc/\(process.processIdentifier)/fd"
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
        return descriptors.compactMap { Int($0) }.contains { number in
            number > 2
                && (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(place)/\(number)"))?
                    .hasPrefix("socket:") == true
        }
    }

    func stop() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Whether GStreamer's RTSP server can be run.
    static let hasRTSPServer: Bool = {
        guard let check = try? PullSender("/usr/bin/python3", ["-c", server(0, check: true)]) else { return false }
        check.process.waitUntilExit()
        return check.process.terminationStatus == 0
    }()

    /// Starts GStreamer's RTSP server, by default with H.264 and Opus at `/live`.
    ///
    /// - Parameters:
    ///   - pictures: Encoder and payloader of the pictures, in the notation of `gst-launch-1.0`.
    ///   - sound: The same of the sound.
    ///   - certificate: PEM file with a certificate and its key, for `rtsps`.
    ///   - password: Password that the user `admin` has to give.
    ///   - isDigest: Whether the server asks for a digest instead of the password itself.
    static func rtsp(
        _ port: UInt16,
        pictures: String = "x264enc tune=zerolatency key-int-max=15 ! rtph264pay config-interval=1",
        sound: String = "opusenc ! rtpopuspay", certificate: String? = nil, password: String? = nil,
        isDigest: Bool = false
    ) throws -> PullSender {
        try PullSender(
            "/usr/bin/python3",
            [
                "-c",
                server(
                    port, check: false, pictures: pictures, sound: sound, certificate: certificate,
                    password: password, isDigest: isDigest),
            ])
    }

    private static func server(
        _ port: UInt16, check: Bool, pictures: String = "", sound: String = "", certificate: String? = nil,
        password: String? = nil, isDigest: Bool = false
    ) -> String {
        """
        import gi, sys
        gi.require_version('Gst', '1.0')
        gi.require_version('GstRtspServer', '1.0')
        from gi.repository import Gst, Gio, GstRtsp, GstRtspServer, GLib
        if \(check ? "True" : "False"): sys.exit(0)
        Gst.init(None)
        server = GstRtspServer.RTSPServer()
        server.set_address('127.0.0.1')
        server.set_service('\(port)')
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_shared(True)
        certificate = '\(certificate ?? "")'
        if certificate:
            auth = GstRtspServer.RTSPAuth()
            auth.set_tls_certificate(Gio.TlsCertificate.new_from_file(certificate))
            token = GstRtspServer.RTSPToken()
            token.set_string('media.factory.role', 'anonymous')
            auth.set_default_token(token)
            server.set_auth(auth)
            factory.add_role_from_structure(Gst.Structure.from_string('anonymous, '
                'media.factory.access=(boolean)true, media.factory.construct=(boolean)true')[0])
        password = '\(password ?? "")'
        if password:
            auth = GstRtspServer.RTSPAuth()
            token = GstRtspServer.RTSPToken()
            token.set_string('media.factory.role', 'user')
            if \(isDigest ? "True" : "False"):
                auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
                auth.add_digest('admin', password, token)
            else:
                auth.add_basic(GstRtspServer.RTSPAuth.make_basic('admin', password), token)
            server.set_auth(auth)
            factory.add_role_from_structure(Gst.Structure.from_string('user, '
                'media.factory.access=(boolean)true, media.factory.construct=(boolean)true')[0])
        factory.set_launch('( videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate=30/1 ! '
            '\(pictures) name=pay0 pt=96 '
            'audiotestsrc is-live=true ! audioconvert ! audioresample ! \(sound) name=pay1 pt=97 )')
        server.get_mount_points().add_factory('/live', factory)
        server.attach(None)
        GLib.MainLoop().run()
        """
    }

    /// Ports that this process has handed out.
    private static let kept = Mutex<[ReservedPort]>([])

    /// Returns a port that is free over TCP and UDP.
    ///
    /// The port is reserved over TCP until this process ends, so that a server may start later, and start again. UDP
    /// offers no such reservation.
    static func freePort() throws -> UInt16 {
        for _ in 0..<100 {
            let port = try ReservedPort()
            guard isFreeForDatagrams(UInt16(port.number)) else { continue }
            kept.withLock { $0.append(port) }
            return UInt16(port.number)
        }
        throw POSIXError(.EADDRINUSE)
    }

    private static func isFreeForDatagrams(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    static func isBound(_ port: UInt16) -> Bool { isInTable("udp", port) }
    /// Returns whether a server listens on the port. Connections of a server that has ended keep its port in the table
    /// for a minute, so only the state tells.
    static func isListening(_ port: UInt16) -> Bool { isInTable("tcp", port, state: "0A") }

    /// Returns whether a socket of this machine is bound to the port, proc_net(5).
    ///
    /// - Parameter state: The socket's state, as in the table; `nil` for any.
    private static func isInTable(_ table: String, _ port: UInt16, state: Substring? = nil) -> Bool {
        let text = (try? String(contentsOfFile: "/proc/net/\(table)", encoding: .utf8)) ?? ""
        let hexadecimal = String(port, radix: 16, uppercase: true)
        let word = ":" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
        return text.split(separator: "\n").dropFirst().contains { line in
            let fields = line.split(separator: " ")
            return fields.count > 3 && fields[1].hasSuffix(word) && (state == nil || fields[3] == state)
        }
    }
}
