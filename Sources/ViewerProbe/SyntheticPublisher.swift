import LayoutEngine

/// A live source whose picture and sound carry the time at which they were made. It is an `ffmpeg` process, so that
/// programs are judged with a foreign encoder and muxer.
///
/// Picture: a plain colour or a person who talks, a `SourceMark` that counts pictures, and a patch that is white for
/// one picture a second.
/// Sound: a steady tone, and a beep that begins at exactly the instant of each flash.
public struct SyntheticPublisher: Hashable, Codable, Sendable {
    /// The colour space that the H.264 stream signals.
    public enum ColourTag: String, Hashable, Codable, Sendable, CaseIterable {
        /// No signal, so that players guess.
        case none
        case bt709
        case bt601
    }

    /// Number of the source, 0…15, shown in the mark.
    public var id: Int
    /// Picture size in pixels; both numbers are even.
    public var width: Int
    public var height: Int
    /// Whole pictures per second.
    public var fps: Int
    /// Consecutive B-frames; 0 means an encoder without delay.
    public var bFrames: Int
    /// Time from keyframe to keyframe, in seconds.
    public var gopSeconds: Double
    /// Sample rate in Hz.
    public var sampleRate: Int
    /// Number of channels, 1 or 2.
    public var channels: Int
    /// Whether the source has sound. False means digital silence: any sound heard when this source comes or goes is
    /// from the other sources.
    public var hasSound: Bool
    public var colour: RGB
    /// Name of the person in the picture; `nil` means a plain picture.
    public var person: String?
    public var colourTag: ColourTag
    /// Video bit rate in bit/s.
    public var videoBitrate: Int
    /// Seconds after which the source ends; `nil` means never.
    public var seconds: Double?
    /// Time on the publisher's clock per elapsed time: 1.002 is a clock that is 2000 ppm fast. Greater than 0.
    public var clockRate: Double

    public init(
        id: Int, width: Int = 720, height: Int = 1280, fps: Int = 20, bFrames: Int = 0, gopSeconds: Double = 2,
        sampleRate: Int = 48000, channels: Int = 2, hasSound: Bool = true, colour: RGB? = nil,
        person: String? = nil, colourTag: ColourTag = .none, videoBitrate: Int = 1_300_000, seconds: Double? = nil,
        clockRate: Double = 1
    ) {
        self.id = id
        self.width = width
        self.height = height
        self.fps = fps
        self.bFrames = bFrames
        self.gopSeconds = gopSeconds
        self.sampleRate = sampleRate
        self.channels = channels
        self.hasSound = hasSound
        self.colour = colour ?? SyntheticPublisher.colours[id % SyntheticPublisher.colours.count]
        self.person = person
        self.colourTag = colourTag
        self.videoBitrate = videoBitrate
        self.seconds = seconds
        self.clockRate = clockRate
    }

    private static let colours = [
        RGB(red: 90, green: 90, blue: 90), RGB(red: 200, green: 50, blue: 50), RGB(red: 40, green: 90, blue: 200),
        RGB(red: 40, green: 150, blue: 70), RGB(red: 200, green: 150, blue: 40),
    ]

    /// Amplitude of the steady tone, as a fraction of full scale.
    static let toneAmplitude = 0.1
    /// Highest amplitude of a beep, as a fraction of full scale.
    static let beepAmplitude = 0.3
    /// Length of a beep in seconds. Its amplitude is half a sine, squared, so that its middle is its centre of energy.
    static let beepSeconds = 0.04

    /// Frequency of the steady tone in Hz; a whole number, so that one second of it joins the next without a seam.
    public var toneFrequency: Int { 440 + 110 * id }
    /// Frequency of the beep in Hz, far from every source's tone and beep.
    public var beepFrequency: Int { 2000 + 400 * id }

    /// The place of the mark in the picture.
    var mark: MarkGeometry.Place { person == nil ? .centre : .corner }

    private var picture: PersonPicture? {
        person.map { PersonPicture(name: $0, width: width, height: height, colour: colour, number: id) }
    }

    /// The drawings (SVG) that `ffmpeg` needs in one file each; none for a plain picture.
    public var drawings: [String] { picture?.layers.map(\.drawing) ?? [] }

    /// Returns the arguments for an `ffmpeg` that pushes to `url` (RTMP) in real time.
    ///
    /// - Parameter files: Paths of files with `drawings`, in their order.
    public func arguments(url: String, drawings files: [String] = []) -> [String] {
        var arguments = input(drawings: files) + videoEncoder
        arguments += ["-c:a", "aac", "-b:a", "\(64_000 * channels)", "-ar", "\(sampleRate)", "-ac", "\(channels)"]
        return arguments + ["-flvflags", "no_duration_filesize", "-f", "flv", url]
    }

    /// Returns the arguments for an `ffmpeg` that writes pictures and sound to a file or named pipe (Matroska),
    /// unencoded and in real time, for a client with an encoder of its own.
    public func rawArguments(path: String) -> [String] {
        input(drawings: []) + ["-c:v", "rawvideo", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", "-flush_packets", "1"]
            + ["-cluster_time_limit", "20", "-f", "matroska", "-y", path]
    }

    private func input(drawings files: [String]) -> [String] {
        let base = "color=c=gray:s=\(width)x\(height):r=\(fps)"
        let silent = ["-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning"]
        let length = seconds.map { ["-t", "\($0)"] } ?? []
        let pace = clockRate == 1 ? ["-re"] : ["-readrate", "\(clockRate)"]
        func live(_ graph: String) -> [String] { pace + ["-f", "lavfi", "-i", graph] }
        guard let picture, files.count == picture.layers.count else {
            let graph = ([base] + plain + marks).joined(separator: ",")
            return silent + live(graph) + live(soundGraph) + length
        }
        var graph = ""
        for (index, layer) in picture.layers.enumerated() {
            graph += index == 0 ? "[0:v]" : "[\(index)]"
            graph += "[\(index + 2):v]overlay=x='\(layer.x)':y='\(layer.y)'"
            graph += (layer.isShown.map { ":enable='\($0)'" } ?? "") + "[\(index + 1)];"
        }
        graph += "[\(files.count)]" + (["format=yuv420p", picture.clock] + marks).joined(separator: ",") + "[picture]"
        return silent + live(base) + live(soundGraph)
            + files.flatMap { ["-f", "image2", "-c:v", "librsvg", "-i", $0] }
            + ["-filter_complex", graph, "-map", "[picture]", "-map", "1:a"] + length
    }

    private var videoEncoder: [String] {
        let gop = max(1, Int((gopSeconds * Double(fps)).rounded()))
        var arguments = ["-c:v", "libx264", "-preset", "veryfast", "-threads", "1", "-pix_fmt", "yuv420p"]
        arguments +=
            bFrames == 0 ? ["-tune", "zerolatency"] : ["-bf", "\(bFrames)", "-x264-params", "rc-lookahead=10"]
        arguments += ["-g", "\(gop)", "-keyint_min", "\(gop)", "-sc_threshold", "0"]
        arguments += ["-b:v", "\(videoBitrate)", "-maxrate", "\(videoBitrate)", "-bufsize", "\(videoBitrate)"]
        switch colourTag {
        case .none: break
        case .bt709:
            arguments += ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
            arguments += ["-color_range", "tv"]
        case .bt601:
            arguments += ["-colorspace", "smpte170m", "-color_primaries", "smpte170m", "-color_trc", "smpte170m"]
            arguments += ["-color_range", "tv"]
        }
        return arguments
    }

    /// Filters that make a plain picture whose colour is exact to the sample.
    private var plain: [String] {
        let base = ColourSample(colour, matrix: colourTag == .bt709 ? .bt709 : .bt601)
        return [
            "format=yuv420p",
            "lutyuv=y=\(Int(base.luma.rounded())):u=\(Int(base.blue.rounded())):v=\(Int(base.red.rounded()))",
        ]
    }

    /// Filters that draw the parts that the probe reads.
    private var marks: [String] {
        let geometry = MarkGeometry(width: width, height: height, place: mark)
        var filters: [String] = []
        if mark == .corner {
            filters.append(SyntheticPublisher.box(geometry.panel, colour: "black"))
            filters.append(SyntheticPublisher.box(geometry.colour, colour: "\(colour)"))
        }
        filters.append(SyntheticPublisher.box(geometry.flash, colour: "black"))
        filters.append(SyntheticPublisher.box(geometry.flash, colour: "white", when: "not(mod(n,\(fps)))"))
        filters.append(SyntheticPublisher.box(geometry.mark, colour: "black"))
        for (index, expression) in SourceMark.cellExpressions(source: id).enumerated() where expression != "0" {
            let cell = PixelRectangle(
                x: geometry.mark.x + index % SourceMark.side * geometry.cell,
                y: geometry.mark.y + index / SourceMark.side * geometry.cell,
                width: geometry.cell, height: geometry.cell)
            filters.append(SyntheticPublisher.box(cell, colour: "white", when: expression))
        }
        return filters
    }

    private static func box(_ area: PixelRectangle, colour: String, when expression: String? = nil) -> String {
        "drawbox=x=\(area.x):y=\(area.y):w=\(area.width):h=\(area.height):color=\(colour):t=fill"
            + (expression.map { ":enable='\($0)'" } ?? "")
    }

    private var soundGraph: String {
        let length = SyntheticPublisher.beepSeconds
        let tone = "\(SyntheticPublisher.toneAmplitude)*sin(2*PI*\(toneFrequency)*t)"
        let shape = "lt(t,\(length))*pow(sin(PI*t/\(length)),2)"
        let beep = "\(SyntheticPublisher.beepAmplitude)*sin(2*PI*\(beepFrequency)*t)*\(shape)"
        let channel = hasSound ? "\(tone)+\(beep)" : "0"
        let expressions = Array(repeating: channel, count: channels).joined(separator: "|")
        // One second is computed once and then repeated: evaluating it for every sample costs a tenth of a core.
        return "aevalsrc=exprs='\(expressions)':s=\(sampleRate):d=1:c=\(channels == 1 ? "mono" : "stereo")"
            + ",aloop=loop=-1:size=\(sampleRate)"
    }
}
