// An independent register in C#, written from the protocol alone, a third reading of it.
//
//   mono Register.exe (tcp HOST PORT | serial PATH) STEP...     STEP: register, pay:AMOUNT,
//   reverse, end-of-day, status
//
// Every step prints "step: outcome"; whatever the terminal does wrong is printed behind "PROBLEM".
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Sockets;
using System.Threading;

class Message {
    public int Control;
    public byte[] Data;
    public string Name { get { return Control.ToString("X4"); } }
}

// Bytes of either transport; a thread reads so that waiting can end.
class Line {
    readonly Stream stream;
    readonly BlockingCollection<int> bytes = new BlockingCollection<int>();

    public Line(Stream stream) {
        this.stream = stream;
        new Thread(Pump) { IsBackground = true }.Start();
    }

    void Pump() {
        var part = new byte[512];
        try {
            for (int n; (n = stream.Read(part, 0, part.Length)) > 0;)
                for (int i = 0; i < n; i++) bytes.Add(part[i]);
        } catch (Exception) { }
        bytes.Add(-1);
    }

    public int Next(int milliseconds) {
        int got;
        if (!bytes.TryTake(out got, milliseconds)) return -2;
        if (got < 0) throw new IOException("the terminal closed the link");
        return got;
    }

    public void Put(params byte[] data) {
        stream.Write(data, 0, data.Length);
        stream.Flush();
    }
}

class Register {
    const int T1 = 200, T2 = 5000, T3 = 5000, T4 = 180000;
    readonly Line line;
    readonly bool serial;
    readonly Queue<byte[]> ahead = new Queue<byte[]>();
    int problems, receipt, trace;
    long amount, sum;
    string step = "";

    Register(Stream stream, bool serial) {
        line = new Line(stream);
        this.serial = serial;
    }

    void Must(bool good, string otherwise) {
        if (good) return;
        problems++;
        Console.WriteLine("PROBLEM " + step + ": " + otherwise);
    }

    static int Crc(IEnumerable<byte> data) {
        int value = 0;
        foreach (byte b in data.Concat(new byte[] { 3 })) {
            value ^= b;
            for (int i = 0; i < 8; i++) value = (value & 1) != 0 ? value >> 1 ^ 0x8408 : value >> 1;
        }
        return value;
    }

    static byte[] Bcd(long value, int size) {
        string digits = value.ToString().PadLeft(size * 2, '0');
        return Enumerable.Range(0, size)
            .Select(i => Convert.ToByte(digits.Substring(2 * i, 2), 16)).ToArray();
    }

    static long Number(byte[] data) {
        return long.Parse(BitConverter.ToString(data).Replace("-", ""));
    }

    static byte[] Join(params object[] parts) {
        return parts.SelectMany(p => p is int ? new[] { (byte)(int)p } : (byte[])p).ToArray();
    }

    // ---- link ---------------------------------------------------------------------------

    void Send(byte[] apdu) {
        if (!serial) { line.Put(apdu); return; }
        int crc = Crc(apdu);
        var framed = new List<byte> { 0x10, 2 };
        foreach (byte b in apdu) { framed.Add(b); if (b == 0x10) framed.Add(b); }
        framed.AddRange(new byte[] { 0x10, 3, (byte)crc, (byte)(crc >> 8) });
        for (int i = 0; i < 3; i++) {
            line.Put(framed.ToArray());
            int got = line.Next(T2);
            while (got == 0x10) { ReadFrame(); got = line.Next(T2); }
            if (got == 6) return;
            Must(false, "a good frame was answered " + got.ToString("X2"));
        }
        throw new IOException("no ACK for three sends");
    }

    void ReadFrame() {
        Must(line.Next(T1) == 2, "no STX behind DLE");
        var data = new List<byte>();
        for (;;) {
            int got = line.Next(T1);
            if (got == 0x10 && (got = line.Next(T1)) == 3) break;
            if (got < 0) throw new IOException("frame stops");
            data.Add((byte)got);
        }
        int crc = line.Next(T1) | line.Next(T1) << 8;
        bool good = crc == Crc(data);
        Must(good, "CRC is wrong");
        line.Put(good ? (byte)6 : (byte)0x15);
        if (good) ahead.Enqueue(data.ToArray());
    }

    Message Receive(int milliseconds) {
        byte[] raw;
        if (serial) {
            while (ahead.Count == 0) {
                int got = line.Next(milliseconds);
                if (got == -2) return null;
                Must(got == 0x10, "byte " + got.ToString("X2") + " between frames");
                if (got == 0x10) ReadFrame();
            }
            raw = ahead.Dequeue();
        } else {
            int first = line.Next(milliseconds);
            if (first == -2) return null;
            var data = new List<byte> { (byte)first };
            Func<byte> more = () => { data.Add((byte)line.Next(T3)); return data.Last(); };
            more();
            int size = more();
            if (size == 255) size = more() | more() << 8;
            while (size-- > 0) more();
            raw = data.ToArray();
        }
        int start = raw[2] == 255 ? 5 : 3;
        int length = raw[2] == 255 ? raw[3] | raw[4] << 8 : raw[2];
        Must(raw.Length == start + length, "length of " + BitConverter.ToString(raw));
        return new Message { Control = raw[0] << 8 | raw[1], Data = raw.Skip(start).ToArray() };
    }

    // ---- dialogue -----------------------------------------------------------------------

    static readonly Dictionary<int, int> Sizes = new Dictionary<int, int> {
        {0x04, 6}, {0x0B, 3}, {0x0C, 3}, {0x0D, 2}, {0x0E, 2}, {0x17, 2}, {0x19, 1}, {0x27, 1},
        {0x29, 4}, {0x2A, 15}, {0x37, 3}, {0x3B, 8}, {0x49, 2}, {0x87, 2}, {0x88, 3}, {0x8A, 1},
        {0x8C, 1}, {0xA0, 1}, {0xBA, 5}, {0x22, -2}, {0x23, -2}, {0x4C, -2}, {0x8B, -2},
        {0x24, -3}, {0x3C, -3}, {0x60, -3}, {0x9A, -3},
    };

    Dictionary<int, byte[]> Fields(byte[] data) {
        var found = new Dictionary<int, byte[]>();
        for (int at = 0; at < data.Length;) {
            int field = data[at++], size;
            if (field == 6) {
                size = data[at++];
                if (size == 0x81) size = data[at++];
                else if (size == 0x82) { size = data[at] << 8 | data[at + 1]; at += 2; }
            } else if (!Sizes.TryGetValue(field, out size)) {
                Must(false, "field " + field.ToString("X2"));
                return found;
            } else if (size < 0) {
                int digits = -size;
                for (size = 0; digits-- > 0; at++) {
                    Must(data[at] >> 4 == 15, "length of field " + field.ToString("X2"));
                    size = size * 10 + (data[at] & 15);
                }
            }
            found[field] = data.Skip(at).Take(size).ToArray();
            Must(found[field].Length == size, "field " + field.ToString("X2") + " is cut");
            at += size;
        }
        return found;
    }

    // One command to its end; gives the control of the end and the last 04 0F.
    Message Run(byte[] command, out Dictionary<int, byte[]> status) {
        status = new Dictionary<int, byte[]>();
        Must(Receive(20) == null, "a message outside a dialogue");
        Send(command);
        Message answer = Receive(T3);
        if (answer == null) throw new IOException("no answer within T3");
        if (answer.Control != 0x8000) return answer;
        for (;;) {
            Message got = Receive(T4);
            if (got == null) throw new IOException("nothing within T4");
            if (got.Control == 0x040F) status = Fields(got.Data);
            else Must(new[] { 0x04FF, 0x06D1, 0x06D3, 0x060F, 0x061E }.Contains(got.Control),
                got.Name + " was not permitted");
            Send(new byte[] { 0x80, 0, 0 });
            if (got.Control == 0x060F || got.Control == 0x061E) return got;
        }
    }

    byte[] Apdu(int control, byte[] data) {
        return Join(control >> 8, control & 255, data.Length, data);
    }

    string Do(string name, long value) {
        Dictionary<int, byte[]> got;
        byte[] password = new byte[3], euro = { 9, 0x78 };
        if (name == "register") {
            byte[] tlv = { 6, 6, 0x26, 4, 0x0A, 2, 6, 0xD3 };
            return Run(Apdu(0x0600, Join(password, 0xBE, euro, tlv)), out got).Name;
        }
        if (name == "status")
            return Run(Apdu(0x0501, Join(password, 3, 6)), out got).Name;
        if (name == "pay") {
            byte[] data = Join(4, Bcd(value, 6), 0x49, euro, 0x19, 0x40, 1, 30, 2, 3);
            Message end = Run(Apdu(0x0601, data), out got);
            if (end.Control != 0x060F) return end.Name;
            Must(got[0x27][0] == 0, "06 0F behind a bad result");
            amount = Number(got[4]);
            Must(amount == value, "amount " + amount);
            Must(Number(got[0x87]) > receipt, "receipt number does not grow");
            Must(Number(got[0x0B]) > trace, "trace number does not grow");
            receipt = (int)Number(got[0x87]);
            trace = (int)Number(got[0x0B]);
            sum += amount;
            return end.Name + " receipt " + receipt;
        }
        if (name == "reverse") {
            byte[] data = Join(password, 0x87, Bcd(receipt, 2), 4, Bcd(amount, 6), 0x49, euro);
            Message end = Run(Apdu(0x0630, data), out got);
            if (end.Control == 0x060F) {
                Must(Number(got[4]) == amount, "amount " + Number(got[4]));
                sum -= amount;
            }
            return end.Name;
        }
        if (name == "end-of-day") {
            Message end = Run(Apdu(0x0650, password), out got);
            if (end.Control == 0x060F) Must(Number(got[4]) == sum, "total " + Number(got[4]));
            sum = 0;
            return end.Name;
        }
        throw new ArgumentException(name);
    }

    static Stream Open(string[] args) {
        if (args[0] == "tcp") return new TcpClient(args[1], int.Parse(args[2])).GetStream();
        string mode = "-F " + args[1] + " raw -echo 9600 cstopb";
        Process.Start(new ProcessStartInfo("stty", mode) { UseShellExecute = false }).WaitForExit();
        return new FileStream(args[1], FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite, 1);
    }

    static int Main(string[] args) {
        var register = new Register(Open(args), args[0] == "serial");
        foreach (string text in args.Skip(args[0] == "tcp" ? 3 : 2)) {
            string[] parts = text.Split(':');
            register.step = text;
            try {
                long value = parts.Length > 1 ? long.Parse(parts[1]) : 0;
                Console.WriteLine(text + ": " + register.Do(parts[0], value));
            } catch (Exception error) {
                register.Must(false, error.Message);
            }
        }
        return register.problems == 0 ? 0 : 1;
    }
}
