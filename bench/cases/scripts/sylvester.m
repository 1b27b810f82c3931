% K*C*L + mu*C = Y by Octave: its control package's dlyap (SLICOT, Hessenberg-Schur) and its own sylvester (LAPACK).
% usage: octave-cli sylvester.m DIR REPEATS MU L N; DIR holds K, L and Y as numpy writes them.
args = argv();
folder = args{1}; repeats = str2double(args{2}); mu = str2double(args{3}); l = str2double(args{4}); n = str2double(args{5});

function A = matrix(folder, name, rows, cols)
  f = fopen(fullfile(folder, [name ".npy"]), "r", "ieee-le");
  fseek(f, -8 * rows * cols, SEEK_END); % doubles, row by row, behind a header
  A = fread(f, [cols, rows], "double")';
  fclose(f);
end

function show(name, release, seconds, C, K, L, Y, mu)
  residual = norm(K * C * L + mu * C - Y, "fro") / norm(Y, "fro");
  list = strjoin(arrayfun(@(s) sprintf("%.9g", s), seconds, "UniformOutput", false), ", ");
  printf('{"name": "%s", "version": "%s", "seconds": [%s], "metrics": {"residual": %.6g}}\n', name, release, list, residual);
end

K = matrix(folder, "K", l, l); L = matrix(folder, "L", n, n); Y = matrix(folder, "Y", l, n);

seconds = [];
for i = 0:repeats
  start = tic;
  inverse = inv(L);
  C = sylvester(K, mu * inverse, Y * inverse);
  if i > 0
    seconds(end + 1) = toc(start);
  end
end
show("Octave sylvester", version(), seconds, C, K, L, Y, mu);

try
  pkg load control
catch
  exit(0)
end
found = pkg("list", "control");
seconds = [];
for i = 0:repeats
  start = tic;
  C = dlyap(K, -L / mu, Y / mu); % A*X*B' - X + C = 0
  if i > 0
    seconds(end + 1) = toc(start);
  end
end
show("Octave dlyap (SLICOT)", found{1}.version, seconds, C, K, L, Y, mu);
