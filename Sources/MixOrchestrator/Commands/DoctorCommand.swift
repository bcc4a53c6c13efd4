import ArgumentParser
import Foundation
import HTTPInterface
import MixModel
import NIOCore
import NIOPosix
import PostgreSQLStore
import RoomService
import TaskStore
import TextFormats

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Checks the requirements of the service and explains how to fix problems.")

    @Option(help: "YAML file with the configuration.")
    var config: String?
    @Option(help: "Address to check.")
    var listen: String?
    @Option(help: "Data directory to check.")
    var data: String?

    func run() async throws {
        var findings: [Finding] = []
        do {
            let configuration = try OrchestratorConfiguration(
                ConfigurationKeys.reader(file: config), file: config, overrides: .init(listen: listen, data: data))
            findings.append(Finding(isGood: true, text: "configuration"))
            findings += Self.settings(configuration)
            findings.append(await Self.port(configuration.listen, setting: "--listen"))
            if let files = configuration.http.tls { findings.append(Self.certificate(files, setting: "http.tls")) }
            if let rules = configuration.ingest?.rules { findings += try await Self.ingest(rules) }
            findings += (configuration.webrtc?.notes(machine: Self.addresses) ?? []).map {
                Finding(verdict: .note, text: $0)
            }
            if let pages = configuration.pages { findings.append(pages.finding) }
            findings += Self.directory(configuration.data)
            if let outputs = configuration.limits.outputs {
                let isWritable = access(outputs, W_OK | X_OK) == 0
                findings.append(
                    Finding(
                        isGood: isWritable,
                        text: isWritable
                            ? "outputs.directory \(outputs) is writable"
                            : "outputs.directory \(outputs) is not writable: make it, and give it to the service's user"
                    ))
            }
            if let target = configuration.store.target { findings.append(Self.database(target, configuration)) }
            findings += await WorkerCheck.findings(worker: configuration.worker)
        } catch let error as StartupError {
            findings.append(Finding(isGood: false, text: "\(error)"))
        }
        for finding in findings { print("\(finding.verdict.rawValue) \(finding.text)") }
        guard findings.allSatisfy(\.isGood) else { throw ExitCode(1) }
    }

    /// Returns everything that the service will log about its settings.
    static func settings(_ configuration: OrchestratorConfiguration) -> [Finding] {
        configuration.faults.map { Finding(isGood: false, text: $0) }
            + (configuration.exposures + configuration.closedLists).map { Finding(verdict: .note, text: $0) }
    }

    /// Returns whether the ingest can listen on its ports, and use the certificate of RTMPS.
    ///
    /// - Throws: `StartupError` when an address cannot be read.
    static func ingest(_ rules: IngestRules) async throws(StartupError) -> [Finding] {
        func port(_ host: String, _ port: Int, setting: String) async throws(StartupError) -> Finding {
            let text = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            let address = try ListenAddress(text, key: setting, hasTokens: true)
            return await Self.port(address, setting: setting)
        }
        var findings = [try await port(rules.host, rules.port, setting: "ingest.rtmp.listen")]
        if let tls = rules.rtmps {
            findings.append(try await port(tls.host, tls.port, setting: "ingest.rtmps.listen"))
            let files = TLSFiles(certificate: tls.certificate, key: tls.key)
            findings.append(certificate(files, setting: "ingest.rtmps"))
        }
        return findings
    }

    private static func port(_ address: ListenAddress, setting: String) async -> Finding {
        do {
            let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: address.host, port: address.port).get()
            try await channel.close()
            return Finding(isGood: true, text: "address \(address) is free")
        } catch {
            return Finding(
                isGood: false, text: "address \(address) cannot be used (\(error)): choose another one with \(setting)")
        }
    }

    /// The addresses of this machine's network interfaces.
    private static var addresses: [InternetAddress] {
        ((try? NIOCore.System.enumerateDevices()) ?? []).compactMap { $0.address?.ipAddress }
            .compactMap { InternetAddress(text: $0) }
    }

    private static func certificate(_ files: TLSFiles, setting: String) -> Finding {
        do throws(ServerCertificate.Failure) {
            guard let problem = try ServerCertificate(files).problem() else {
                return Finding(isGood: true, text: "\(setting): \(files.certificate) can be used")
            }
            return Finding(
                verdict: problem.isFatal ? .bad : .note, text: "\(setting): \(files.certificate): \(problem.words)")
        } catch {
            return Finding(isGood: false, text: "\(setting): \(error)")
        }
    }

    private static func database(_ target: PostgreSQLTarget, _ configuration: OrchestratorConfiguration) -> Finding {
        do throws(StoreError) {
            let report = try PostgreSQLAdministration.inspect(
                target, cluster: ClusterMembership(data: configuration.data).cluster, name: configuration.store.cluster,
                counting: false)
            let place = "store: \(target.place) (PostgreSQL \(report.server))"
            guard report.version > 0 else {
                return Finding(verdict: .note, text: "\(place) is empty: the service creates its tables when it starts")
            }
            guard report.services.isEmpty else {
                return Finding(verdict: .note, text: "\(place) is in use by \(report.services.joined(separator: ", "))")
            }
            return Finding(isGood: true, text: "\(place) can be used")
        } catch {
            return Finding(isGood: false, text: "store: \(error)")
        }
    }

    private static func directory(_ path: String) -> [Finding] {
        // The directory itself, or its nearest ancestor that exists.
        var existing = URL(fileURLWithPath: path)
        while !FileManager.default.fileExists(atPath: existing.path), existing.path != "/" {
            existing.deleteLastPathComponent()
        }
        let isWritable = access(existing.path, W_OK | X_OK) == 0
        var findings = [
            Finding(
                isGood: isWritable,
                text: isWritable
                    ? "data directory \(path) is writable"
                    : "data directory \(path) is not writable: give \(existing.path) to the user that runs the service"
            )
        ]
        var info = statvfs()
        if statvfs(existing.path, &info) == 0 {
            // Some file systems of networks claim close to 2^63 bytes.
            let free = Int(min(Double(info.f_bavail) * Double(info.f_frsize) / 1_048_576, 1e12))
            let isEnough = free >= 512
            findings.append(
                Finding(
                    isGood: isEnough,
                    text: "\(free) MiB free for data\(isEnough ? "" : ": at least 512 MiB are required")"))
        }
        return findings
    }
}
